/* cuMemcpyBatchAsync: async_error 719 in sync
 *
 *   gcc -O2 -o reproduce reproduce.c -I/usr/local/cuda/include -lcuda     (or: nvcc -O2 -o reproduce reproduce.c -lcuda)
 *   ./reproduce --times 20              the batch call
 *   ./reproduce --times 20 --percopy    the control: the same copies, one cuMemcpyAsync each
 *
 * Batch: 1,160 copies, 6,867,115 bytes, h2d, submitted 10 times.
 * Batch call: 22 of 22 runs failed (95 %: 85 % to 100 %).
 * GPU: NVIDIA H200, compute capability 9.0, VBIOS 96.00.a5.00.1a.
 * Driver: 580.159.04, CUDA 13.0.
 *
 * Every run is a process of its own. The exit status is that of the worst run: 0 ok, 10 error, 11 segfault, 12 hang,
 * 13 async_error (the synchronisation fails), 14 corrupt, 15 crash (another signal); 2 wrong usage; 3 not set up: no
 * device, out of memory, no such call in this driver.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, USAGE = 2, NOT_SET_UP = 3, ERROR = 10, SEGFAULT = 11, HANG = 12, ASYNC_ERROR = 13, CORRUPT = 14, CRASH = 15 };

/* -- the batch ----------------------------------------------------------------------------------------------------- */

#define COUNT 1160
#define SOURCE_BYTES 6867115ull
#define DESTINATION_BYTES 6867115ull
#define REPETITION 10 /* submissions of the batch, on one stream */

static size_t source[COUNT], destination[COUNT], size[COUNT]; /* offsets in the two buffers, bytes */
static const unsigned size_table[COUNT]; /* at the end of this file */

static void build(void)
{
    for (size_t i = 0; i < COUNT; i++) size[i] = size_table[i];
    for (size_t i = 0, at = 0; i < COUNT; at += size[i], i++) source[i] = at;
    for (size_t i = 0, at = 0; i < COUNT; at += size[i], i++) destination[i] = at;
}

/* -- memory -------------------------------------------------------------------------------------------------------- */

static volatile struct { int phase; } *shared; /* survives the death of a run */
enum { SETTING_UP, CALLING, VERIFYING };

static int failed(int outcome, const char *call, CUresult result)
{
    const char *name = NULL;
    cuGetErrorName(result, &name);
    printf("%s: %s (%d)", call, name ? name : "?", result);
    return outcome;
}

#define NEED(call) do { CUresult r_ = (call); if (r_) return failed(NOT_SET_UP, #call, r_); } while (0)

typedef struct { CUdeviceptr at; } Buffer;

static CUdeviceptr address(const Buffer *buffer, size_t offset) { return buffer->at + offset; }

static int allocate_on_device(Buffer *buffer, size_t bytes)
{
    NEED(cuMemAlloc(&buffer->at, bytes));
    return OK;
}

static int allocate_on_host(Buffer *buffer, size_t bytes) /* pinned */
{
    NEED(cuMemHostAlloc((void **)&buffer->at, bytes, 0));
    return OK;
}

enum { PERIOD = 1048573, UNTOUCHED = 0xA5 }; /* a prime: no copy from a wrong page looks right */

static void fill_pattern(unsigned char *bytes, size_t extent)
{
    uint64_t x = 1;
    for (size_t i = 0; i < PERIOD && i < extent; i++) bytes[i] = (x = x * 6364136223846793005ull + 1442695040888963407ull) >> 56;
    for (size_t i = PERIOD; i < extent; i++) bytes[i] = bytes[i - PERIOD];
}

/* Moves all bytes of a buffer to or from plain memory, without the call under test. */
static int write_all(const Buffer *buffer, unsigned char *bytes, size_t extent, int on_device)
{
    if (on_device) NEED(cuMemcpyHtoD(buffer->at, bytes, extent));
    else memcpy((void *)buffer->at, bytes, extent);
    return OK;
}

static CUresult read_all(unsigned char *bytes, const Buffer *buffer, size_t extent, int on_device)
{
    if (on_device) return cuMemcpyDtoH(bytes, buffer->at, extent);
    memcpy(bytes, (void *)buffer->at, extent);
    return CUDA_SUCCESS;
}

/* -- the call under test ------------------------------------------------------------------------------------------- */

typedef CUresult (*BatchCall)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t, size_t *, CUstream);

static CUdeviceptr srcs[COUNT], dsts[COUNT];
static size_t sizes[COUNT], attribute_index[1];
static CUmemcpyAttributes attributes[1];

/* An error of work being executed, told by a later call, is that of a submission before it. */
static int told_later(CUresult r, int repetition)
{
    int execution = r == 214 || r == 220 || r == 700 || r == 702 || r == 710 || (r >= 714 && r <= 719);
    return execution && repetition > 1 ? ASYNC_ERROR : ERROR;
}

static int submit(BatchCall call, CUstream stream, int percopy, int repetition)
{
    if (percopy) {
        for (size_t i = 0; i < COUNT; i++) {
            CUresult result = cuMemcpyAsync(dsts[i], srcs[i], sizes[i], stream);
            if (result) return printf("copy %zu, ", i), failed(told_later(result, repetition), "cuMemcpyAsync", result);
        }
        return OK;
    }
    {
        size_t first = 0, count = COUNT;
        size_t runs = 1;
        for (size_t k = 0; k < runs; k++) attribute_index[k] = k * count / runs;
        size_t fail_index = 0xFEEDFACE0BADCAFEull; /* neither a descriptor nor SIZE_MAX: "not written" can be told */
        CUresult result = call(dsts + first, srcs + first, sizes + first, count, attributes, attribute_index, runs, &fail_index, stream);
        if (result) {
            if (fail_index == 0xFEEDFACE0BADCAFEull) printf("failIdx not written, ");
            else if (fail_index == SIZE_MAX) printf("failIdx SIZE_MAX, ");
            else printf("failIdx %zu, ", first + fail_index);
            return failed(told_later(result, repetition), "cuMemcpyBatchAsync", result);
        }
    }
    return OK;
}

static CUresult synchronise(CUstream stream)
{
    return cuStreamSynchronize(stream);
}

static int use_gpu(int gpu)
{
    CUdevice device;
    CUcontext context;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, gpu));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    return OK;
}

static int find_call(BatchCall *call)
{
    CUdriverProcAddressQueryResult found;
    NEED(cuGetProcAddress("cuMemcpyBatchAsync", (void **)call, 12080, 0, &found)); /* this ABI: with failIdx */
    return OK;
}

/* One run, in a process of its own; returns its exit status. */
static int run(int gpu, int percopy)
{
    static Buffer from, to;
    BatchCall call;
    CUstream stream = NULL;
    unsigned char *bytes = malloc(SOURCE_BYTES), *expected = malloc(DESTINATION_BYTES), *arrived = malloc(DESTINATION_BYTES);
    if (!bytes || !expected || !arrived) return printf("out of host memory"), NOT_SET_UP;
    build();
    if (use_gpu(gpu) || find_call(&call) || allocate_on_host(&from, SOURCE_BYTES) || allocate_on_device(&to, DESTINATION_BYTES)) return NOT_SET_UP;
    fill_pattern(bytes, SOURCE_BYTES);
    memset(expected, UNTOUCHED, DESTINATION_BYTES);
    if (write_all(&from, bytes, SOURCE_BYTES, 0) || write_all(&to, expected, DESTINATION_BYTES, 1)) return NOT_SET_UP;
    for (size_t i = 0; i < COUNT; i++) {
        srcs[i] = address(&from, source[i]), dsts[i] = address(&to, destination[i]), sizes[i] = size[i];
        memcpy(expected + destination[i], bytes + source[i], size[i]);
    }
    for (size_t k = 0; k < 1; k++) attributes[k].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, attributes[k].flags = 0;
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    NEED(cuCtxSynchronize());

    CUresult result;
    for (int repetition = 1; repetition <= REPETITION; repetition++) {
        shared->phase = CALLING;
        int outcome = submit(call, stream, percopy, repetition);
        if (outcome) return outcome;
    }
    if ((result = synchronise(stream))) return failed(ASYNC_ERROR, "cuStreamSynchronize", result);
    shared->phase = VERIFYING;
    if ((result = read_all(arrived, &to, DESTINATION_BYTES, 1))) return failed(ASYNC_ERROR, "reading back", result);
    size_t wrong = 0, first = 0;
    for (size_t i = DESTINATION_BYTES; i-- > 0;)
        if (arrived[i] != expected[i]) wrong++, first = i;
    if (wrong) return printf("%zu of %zu bytes differ, the first at offset %zu", wrong, (size_t)DESTINATION_BYTES, first), CORRUPT;
    return printf("every byte arrived"), OK;
}

/* -- processes ----------------------------------------------------------------------------------------------------- */

/* Keeps the GPU busy until killed; writes one byte when it is. */
static int neighbour(int gpu, int busy)
{
    enum { BYTES = 33554432 };
    CUstream stream;
    CUdeviceptr device;
    void *host;
    if (use_gpu(gpu)) return NOT_SET_UP;
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    NEED(cuMemAlloc(&device, BYTES));
    NEED(cuMemHostAlloc(&host, BYTES, 0));
    for (;;) {
        for (int i = 0; i < 8; i++) NEED(cuMemcpyHtoDAsync(device, host, BYTES, stream));
        NEED(cuStreamSynchronize(stream));
        if (busy >= 0 && write(busy, "", 1) == 1) close(busy), busy = -1;
    }
}

static int start_neighbours(int gpu, int count)
{
    for (int i = 0; i < count; i++) {
        int line[2];
        char byte;
        if (pipe(line)) return perror("pipe"), NOT_SET_UP;
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(line[0]);
            _exit(neighbour(gpu, line[1]));
        }
        close(line[1]);
        if (read(line[0], &byte, 1) != 1) return printf("a neighbour could not be set up\n"), NOT_SET_UP;
        close(line[0]);
    }
    return OK;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const char *word(int outcome)
{
    static const char *words[] = {"error", "segfault", "hang", "async_error", "corrupt", "crash"};
    return outcome == OK ? "ok" : outcome < ERROR ? "not set up" : words[outcome - ERROR];
}

/* Forks one run and returns its outcome; a death or a hang is the driver's doing only inside the calls under test. */
static int watch(int gpu, int percopy, double timeout)
{
    int status = 0, ended = 0;
    shared->phase = SETTING_UP;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return perror("fork"), NOT_SET_UP;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        int outcome = run(gpu, percopy);
        fflush(stdout);
        _exit(outcome);
    }
    for (double end = now() + timeout; !(ended = waitpid(child, &status, WNOHANG) == child) && now() < end;) usleep(1000);
    int phase = shared->phase;
    if (!ended) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        printf("no answer within %g s", timeout);
        return phase == CALLING ? HANG : NOT_SET_UP;
    }
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    printf("%s", strsignal(WTERMSIG(status)));
    if (phase != CALLING || WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM) return NOT_SET_UP;
    return WTERMSIG(status) == SIGSEGV ? SEGFAULT : CRASH;
}

static int print_environment(int gpu)
{
    char name[128] = "", version[256] = "";
    int cuda = 0;
    CUdevice device;
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file && fgets(version, sizeof version, file)) printf("%s", version);
    if (use_gpu(gpu)) return printf("\n"), NOT_SET_UP;
    NEED(cuDriverGetVersion(&cuda));
    NEED(cuDeviceGet(&device, gpu));
    NEED(cuDeviceGetName(name, sizeof name, device));
    printf("GPU: %s; driver supports CUDA %d.%d\n", name, cuda / 1000, cuda % 1000 / 10);
    return fflush(stdout), OK;
}

int main(int argc, char **argv)
{
    int percopy = 0, gpu = 0, times = 1, neighbours = 0, tally[16] = {0}, worst = OK, status;
    double timeout = 60;
    static const int severity[16] = {[OK] = 0, [NOT_SET_UP] = 1, [ERROR] = 2, [ASYNC_ERROR] = 3, [CORRUPT] = 4, [HANG] = 5, [CRASH] = 6, [SEGFAULT] = 7};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--percopy")) percopy = 1;
        else if (!strcmp(argv[i], "--dump")) {
            build();
            for (size_t k = 0; k < COUNT; k++) printf("%zu %zu %zu\n", source[k], destination[k], size[k]);
            return OK;
        }
        else if (!strcmp(argv[i], "--times") && (times = atoi(value)) > 0) i++;
        else if (!strcmp(argv[i], "--timeout") && (timeout = atof(value)) > 0) i++;
        else if (!strcmp(argv[i], "--neighbours") && *value >= '0' && *value <= '9') neighbours = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--gpu") && *value >= '0' && *value <= '9') gpu = atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: %s [--percopy] [--times N] [--neighbours K] [--timeout SECONDS] [--gpu I] [--dump]\n", argv[0]);
            return USAGE;
        }
    }
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return perror("mmap"), NOT_SET_UP;
    if (fork() == 0) _exit(print_environment(gpu)); /* this process never calls cuInit: a fork after it is useless */
    wait(&status);
    if (status) return fprintf(stderr, "no usable GPU or driver\n"), NOT_SET_UP;
    if (start_neighbours(gpu, neighbours)) return NOT_SET_UP;
    printf("%d copies, %s, submitted %d time(s), %d neighbour(s)\n", COUNT, percopy ? "one cuMemcpyAsync each" : "in one cuMemcpyBatchAsync", REPETITION, neighbours);
    for (int i = 1; i <= times; i++) {
        printf("run %d: ", i);
        int outcome = watch(gpu, percopy, timeout);
        printf(" -> %s\n", word(outcome));
        tally[outcome & 15]++;
        if (severity[outcome & 15] > severity[worst]) worst = outcome & 15;
    }
    for (int outcome = 0; outcome < 16; outcome++)
        if (tally[outcome]) printf("%s: %d of %d\n", word(outcome), tally[outcome], times);
    return worst;
}

static const unsigned size_table[COUNT] = {
    4186, 2092, 2093, 4185, 11509, 1047, 1046, 9417, 4186, 1046, 6279, 3139, 3139, 15696, 1046, 4185, 8371, 1046, 4186,
    6278, 5231, 10464, 15695, 10463, 1047, 7324, 6279, 1046, 3139, 8371, 12556, 1046, 12557, 1046, 13603, 1046, 3139,
    1047, 9417, 3139, 1047, 6278, 5232, 7324, 7324, 11510, 1046, 1046, 1047, 9417, 4186, 2092, 9417, 1047, 11509, 2092,
    3140, 11509, 1047, 8370, 3139, 1047, 8370, 4185, 11510, 13602, 12557, 2092, 14648, 2093, 9417, 14648, 15696, 10463,
    10464, 5231, 14648, 1047, 1046, 15695, 2093, 1046, 10464, 11509, 4185, 8371, 2092, 15695, 7325, 3139, 1047, 1046,
    13602, 11510, 1046, 5231, 5232, 4185, 7325, 12556, 14648, 8371, 2092, 1046, 5232, 11509, 1047, 1046, 5231, 2093,
    1046, 1046, 1047, 3139, 5232, 7324, 1046, 1047, 15695, 2092, 4186, 4185, 2093, 6278, 6278, 3140, 1046, 1046, 7325,
    10463, 12557, 2092, 6278, 1047, 11509, 4185, 12557, 1046, 1047, 1046, 15695, 15696, 1046, 1046, 2093, 2092, 4185,
    3140, 3139, 9418, 3139, 15695, 13603, 3139, 4185, 4186, 6278, 14649, 1046, 1046, 2093, 10463, 15695, 15696, 7324,
    12557, 2092, 2092, 12557, 7324, 2092, 1047, 5231, 4186, 14648, 9417, 13603, 10463, 2092, 6279, 1046, 12557, 7324,
    2092, 9418, 7324, 1046, 2093, 7324, 6279, 2092, 13602, 1047, 8370, 2092, 7325, 1046, 1047, 13602, 4185, 12557, 5231,
    14648, 6279, 1046, 2093, 1046, 3139, 3140, 8370, 10463, 1047, 10463, 4186, 11509, 4185, 1047, 14648, 14648, 1047,
    11509, 1047, 1046, 4185, 5232, 9417, 2092, 15696, 10463, 6279, 4185, 3139, 1047, 1046, 1046, 5232, 14648, 1047,
    1046, 13602, 4186, 1046, 2092, 5232, 5231, 1047, 2092, 11509, 12557, 9417, 7324, 8371, 10463, 6279, 4185, 11509,
    14649, 7324, 1046, 2093, 3139, 1047, 3139, 9417, 7325, 10463, 2092, 1047, 1046, 1047, 1046, 2092, 5232, 2092, 1046,
    10464, 2092, 15696, 11509, 10463, 5232, 4185, 13602, 2093, 9417, 5232, 14648, 4185, 9418, 1046, 14648, 8371, 1046,
    10463, 5232, 4185, 5232, 2092, 7324, 1047, 7324, 7324, 8371, 12556, 5232, 1046, 5231, 7325, 13602, 3139, 5232, 1046,
    2093, 4185, 14648, 1047, 2092, 3139, 3140, 6278, 15696, 8370, 5231, 1047, 1046, 1046, 15696, 6278, 7325, 1046, 7324,
    7325, 2092, 2092, 1047, 7324, 2093, 1046, 1046, 7325, 2092, 3139, 1047, 2092, 3140, 10463, 13602, 1047, 7324, 4185,
    6279, 1046, 11510, 9417, 2092, 1047, 5231, 2092, 11510, 16741, 1047, 9417, 1046, 3140, 2092, 12556, 1047, 2092,
    1047, 11509, 7324, 2093, 2092, 8370, 10464, 1046, 1047, 12556, 5231, 8371, 12556, 5231, 4186, 6278, 12557, 9417,
    2092, 3140, 3139, 5231, 2093, 1046, 1047, 3139, 1046, 8371, 1046, 15695, 1047, 6278, 2093, 2092, 4185, 1047, 1046,
    7324, 7325, 3139, 5232, 1046, 3139, 6279, 12556, 4185, 3140, 14648, 2093, 1046, 6278, 5232, 13602, 2092, 1047, 7324,
    11510, 3139, 1046, 4186, 3139, 14648, 6279, 1046, 1047, 9417, 2092, 3140, 4185, 15695, 1047, 15695, 5231, 1047,
    4185, 9418, 7324, 6278, 1047, 4185, 13602, 1047, 3139, 1047, 3139, 12556, 1047, 5231, 3139, 1047, 1046, 2093, 3139,
    1046, 1047, 13602, 1046, 2093, 11509, 8371, 2092, 11509, 2093, 1046, 10463, 1047, 1046, 1047, 4185, 8370, 2093,
    7324, 6278, 6279, 1046, 14649, 8370, 12556, 2093, 1046, 13602, 15696, 10463, 14649, 12556, 1046, 1047, 1046, 3139,
    4186, 11509, 14649, 7324, 9417, 4186, 8370, 1046, 2093, 8370, 2093, 11509, 7324, 1047, 2092, 14648, 2093, 15695,
    11510, 3139, 2092, 14649, 1046, 15695, 1047, 1046, 5232, 7324, 14648, 1047, 11509, 5231, 3140, 2092, 5232, 1046,
    2092, 12557, 6278, 5231, 5232, 6278, 9418, 3139, 6278, 2093, 10463, 2092, 2093, 11509, 15696, 7324, 3139, 13603,
    1046, 2092, 6279, 9417, 11510, 2092, 3139, 2093, 3139, 7324, 8371, 3139, 11510, 4185, 15695, 3140, 15695, 14648,
    2093, 1046, 8371, 3139, 3139, 7325, 3139, 12556, 2093, 2092, 4185, 2093, 1046, 13603, 4185, 1046, 10464, 10463,
    1046, 4186, 11509, 1047, 3139, 1046, 12557, 6278, 8370, 11510, 3139, 14649, 7324, 8370, 14649, 2092, 5231, 1047,
    1046, 6279, 5231, 2092, 10464, 2092, 3139, 1047, 11509, 1047, 2092, 2092, 9418, 10463, 6278, 5232, 1046, 1047, 7324,
    14648, 4186, 6278, 1046, 7325, 1046, 1047, 12556, 1046, 6279, 13602, 1046, 3140, 1046, 9418, 12556, 3139, 2093,
    1046, 8370, 1047, 13602, 7325, 1046, 12556, 6279, 3139, 1046, 11510, 2092, 1047, 1046, 1046, 10464, 1046, 6278,
    14649, 7324, 3140, 10463, 2092, 10464, 8370, 5231, 13603, 11509, 4186, 5231, 1046, 1047, 1046, 6278, 1047, 1046,
    1047, 2092, 14648, 6279, 7324, 10463, 6279, 2092, 5232, 14648, 3139, 6279, 5231, 1046, 4186, 1046, 4186, 1046, 2092,
    1047, 6278, 16741, 9418, 1046, 4186, 14648, 3139, 3140, 8370, 1046, 1047, 11509, 8371, 1046, 4185, 3140, 6278,
    15695, 1047, 13602, 1047, 1046, 1046, 2093, 6278, 1046, 15696, 4185, 4185, 11510, 2092, 4186, 14648, 1046, 9418,
    5231, 12556, 8371, 7324, 3140, 4185, 15695, 6279, 6278, 1046, 1047, 15695, 11510, 12556, 12556, 6279, 10463, 7324,
    9418, 15695, 1047, 3139, 2092, 15696, 5231, 1046, 3140, 4185, 5232, 9417, 12556, 1047, 11509, 12556, 12557, 2092,
    3140, 11509, 1046, 9418, 4185, 1046, 3140, 1046, 4186, 2092, 1046, 1047, 1046, 15695, 1047, 15695, 8371, 1046, 1046,
    10464, 2092, 2092, 14649, 1046, 6279, 2092, 6278, 3140, 2092, 8370, 1047, 1046, 7325, 7324, 7324, 4186, 1046, 3139,
    2093, 5231, 2093, 8370, 1046, 7325, 1046, 6278, 13603, 10463, 1047, 8370, 6278, 14649, 6278, 1046, 1047, 1046, 9418,
    1046, 10463, 1047, 8370, 11509, 2093, 15695, 9418, 1046, 5231, 3140, 7324, 12556, 1047, 2092, 12557, 9417, 2092,
    1047, 2092, 7324, 8371, 3139, 1047, 8370, 11509, 4186, 8370, 4185, 16742, 2092, 4186, 7324, 2092, 1047, 6278, 4185,
    10464, 1046, 1047, 7324, 7324, 9418, 12556, 3139, 7325, 8370, 1046, 9418, 2092, 14649, 1046, 9417, 7325, 1046, 3139,
    5232, 1046, 10464, 8370, 5231, 9418, 4185, 1046, 4186, 2092, 14649, 3139, 4185, 6279, 14648, 12556, 2093, 15695,
    12557, 5231, 14648, 1047, 9417, 2092, 7325, 5231, 1047, 7324, 13602, 2093, 1046, 1046, 3140, 5231, 10464, 1046,
    3139, 1047, 7324, 4185, 1047, 4185, 1047, 6278, 1046, 2093, 2092, 14648, 1047, 1046, 11510, 1046, 1046, 7325, 7324,
    1046, 1047, 3139, 11510, 1046, 14648, 8371, 7324, 13602, 4186, 1046, 1047, 13602, 6278, 3140, 5231, 12556, 13603,
    12556, 4186, 10463, 11509, 9418, 2092, 4185, 1047, 1046, 1047, 2092, 15695, 14649, 4185, 15695, 14649, 3139, 9418,
    14648, 10463, 13603, 5231, 7324, 1047, 1046, 13603, 4185, 2092, 1047, 14648, 1046, 1047, 2092, 5232, 5231, 1046,
    1047, 4185, 7324, 6279, 1046, 7325, 7324, 1046, 6279, 12556, 4185, 1047, 9417, 1047, 2092, 2092, 15696, 12556, 1046,
    6279, 1046, 1047, 3139, 6278, 8371, 4185, 15695, 1047, 13602, 1046, 1047, 1046, 5232, 10463, 5231, 4186, 11509,
    1046, 12557, 5231, 3140, 10463, 1046, 1047, 1046, 14648, 1047, 7324, 7325, 3139, 6278, 12557, 11509, 1046, 11510,
    1046, 7325, 15695, 10463, 1047, 7324, 14648, 12557, 12556, 12557, 3139, 14648, 13603, 2092, 9417, 11510, 8370, 8371,
    3139, 2092, 1047, 10463, 4185, 1047, 1046, 1047, 6278, 7324, 14649, 7324, 2092, 6279, 8370, 6279, 1046, 12556, 5232,
    4185, 1046, 9418, 9417, 2093, 15695, 5231, 2093, 1046, 2092, 11510, 2092, 5232, 10463, 1046, 2093, 3139, 12556,
    8371, 9417, 6279, 6278, 7324, 6279, 2092, 15695, 1047, 8370, 10464, 2092, 4185, 15696, 5231, 5231, 1047, 8370, 7325,
    2092, 4185, 7325, 7324, 1046, 1047, 14648, 1047, 8370, 2092, 12557, 13602, 1046, 2093, 3139, 1047, 13602, 3139,
    4186, 9417, 1046, 13603, 7324, 1047, 8370, 1046, 1047, 8370, 9417, 3140, 5231, 1047, 2092, 1046, 2093, 1046, 1046,
    15696, 9417, 12556,
};
