/* cuMemcpyBatchAsync: async_error 719 in sync
 *
 *   gcc -O2 -o reproduce reproduce.c -I/usr/local/cuda/include -lcuda
 *   nvcc -O2 -o reproduce reproduce.c -lcuda       (the same)
 *   ./reproduce --times 20                         the batch call
 *   ./reproduce --times 20 --percopy               the control: one cuMemcpyAsync per copy
 *
 * Batch: 1,160 copies, 6,867,115 bytes, h2d, submitted 10 times.
 * Batch call: 22 of 22 runs failed (95 %: 85 % to 100 %).
 * GPU: NVIDIA H200, compute capability 9.0, VBIOS 96.00.a5.00.1a.
 * Driver: 580.159.04, CUDA 13.0.
 *
 * Every run is a process of its own; what is under test ends at the headline "Processes". The exit
 * status is that of the worst run: 0 ok, 10 error, 11 segfault, 12 hang, 13 async_error (told by
 * the synchronisation), 14 corrupt, 15 crash (another signal); 2 wrong usage; 3 not set up (no
 * device, out of memory, no such call in this driver). CUDA_VISIBLE_DEVICES chooses the GPU.
 */
#include <cuda.h>
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OK, USAGE = 2, NOT_SET_UP, ERROR = 10, SEGFAULT, HANG, ASYNC_ERROR, CORRUPT, CRASH };

/* CHECK ends the run with a status, and says why, when a call of the driver fails. */
#define CHECK(status, call) do { CUresult r = (call); if (r) fail(status, #call, r); } while (0)
static void fail(int status, const char *call, CUresult result), end(int status), use_gpu(void);

/* ---- The copies ------------------------------------------------------------------------------ */

#define COUNT 1160
#define SOURCE_BYTES 6867115ull
#define DESTINATION_BYTES 6867115ull
#define REPETITION 10 /* submissions of the batch, on one stream */

static size_t source[COUNT], destination[COUNT], size[COUNT]; /* offsets in two buffers; bytes */
static const unsigned size_table[COUNT]; /* at the end of this file */

static void describe(void)
{
    for (size_t i = 0; i < COUNT; i++) size[i] = size_table[i];
    for (size_t i = 0, at = 0; i < COUNT; at += size[i], i++)
        source[i] = at;
    for (size_t i = 0; i < COUNT; i++) destination[i] = source[i];
}

/* ---- The call under test, and the check ------------------------------------------------------ */

static CUresult (*batch)(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
    CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, CUstream);

static CUdeviceptr dsts[COUNT], srcs[COUNT];
enum { SETTING_UP, CALLING, VERIFYING };
static volatile struct { int busy, phase; } *shared; /* outlives a run */
static int timeout = 60; /* seconds for one run */
static int submitted;

static void submit(int percopy, CUstream stream)
{
    CUmemcpyAttributes attribute[1] = { {0} };
    size_t start[] = {0}, attributes = 1; /* one for all copies */
    attribute[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    if (percopy) {
        for (size_t i = 0; i < COUNT; i++)
            CHECK(ERROR, cuMemcpyAsync(dsts[i], srcs[i], size[i], stream));
        return;
    }
    const size_t unwritten = 0xFEEDFACE0BADCAFEull;
    size_t fail_index = unwritten;
    CUresult result = batch(dsts, srcs, size, COUNT,
                            attribute, start, attributes, &fail_index, stream);
    if (result && fail_index == unwritten) printf("failIdx not written, ");
    else if (result) printf("failIdx %lld, ", (long long)fail_index); /* -1: no copy */
    if (result) fail(ERROR, "cuMemcpyBatchAsync", result);
}

static void run(int percopy)
{
    unsigned char *bytes = malloc(SOURCE_BYTES);
    unsigned char *expected = malloc(DESTINATION_BYTES), *arrived = malloc(DESTINATION_BYTES);
    CUdeviceptr from, to;
    CUstream stream = NULL;
    CUdriverProcAddressQueryResult found;
    if (!bytes || !expected || !arrived) fail(NOT_SET_UP, "malloc", CUDA_ERROR_OUT_OF_MEMORY);
    use_gpu();
    CHECK(NOT_SET_UP, cuGetProcAddress("cuMemcpyBatchAsync", (void **)&batch, 12080, 0, &found));
    CHECK(NOT_SET_UP, cuMemHostAlloc((void **)&from, SOURCE_BYTES, 0));
    CHECK(NOT_SET_UP, cuMemAlloc(&to, DESTINATION_BYTES));
    CHECK(NOT_SET_UP, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (size_t i = 0; i < SOURCE_BYTES; i++)
        bytes[i] = i * i * 0x9E3779B97F4A7C15ull >> 56; /* no two stretches are alike */
    memset(expected, 0xA5, DESTINATION_BYTES);
    memcpy((void *)from, bytes, SOURCE_BYTES);
    CHECK(NOT_SET_UP, cuMemcpyHtoD(to, expected, DESTINATION_BYTES));
    describe();
    for (size_t i = 0; i < COUNT; i++) {
        dsts[i] = to + destination[i];
        srcs[i] = from + source[i];
        memcpy(expected + destination[i], bytes + source[i], size[i]);
    }
    CHECK(NOT_SET_UP, cuCtxSynchronize());

    for (submitted = 0; submitted < REPETITION; submitted++) {
        shared->phase = CALLING;
        submit(percopy, stream);
    }
    CHECK(ASYNC_ERROR, cuStreamSynchronize(stream));
    shared->phase = VERIFYING;
    CHECK(ASYNC_ERROR, cuMemcpyDtoH(arrived, to, DESTINATION_BYTES));
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < DESTINATION_BYTES; i++)
        if (arrived[i] != expected[i] && wrong++ == 0) first = i;
    if (wrong) printf("%zu of %llu bytes differ, first at %zu", wrong, DESTINATION_BYTES, first);
    else printf("every byte arrived");
    end(wrong ? CORRUPT : OK);
}

/* ---- Processes: nothing below is under test -------------------------------------------------- */

static void fail(int status, const char *call, CUresult result)
{
    const char *name = NULL;
    cuGetErrorName(result, &name);
    printf("%s: %s (%d)", call, name ? name : "?", result);
    /* An error of work being executed, told by a later submission, is that of an earlier one. */
    static const int execution[] = {214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719};
    for (int i = 0; i < 11; i++)
        if (status == ERROR && submitted && (int)result == execution[i]) status = ASYNC_ERROR;
    end(status);
}

static void end(int status)
{
    fflush(stdout);
    _exit(status); /* not exit(): cleaning up could hang */
}

static void use_gpu(void)
{
    CUdevice device;
    CUcontext context;
    CHECK(NOT_SET_UP, cuInit(0));
    CHECK(NOT_SET_UP, cuDeviceGet(&device, 0));
    CHECK(NOT_SET_UP, cuDevicePrimaryCtxRetain(&context, device));
    CHECK(NOT_SET_UP, cuCtxSetCurrent(context));
}

static pid_t spawn(void) /* the parent never calls cuInit: a fork after it is useless */
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) err(NOT_SET_UP, "fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with its parent */
        alarm(timeout);                   /* the watchdog */
    }
    return child;
}

static void print_environment(void)
{
    char name[128] = "", version[256] = "";
    int cuda = 0;
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file && fgets(version, sizeof version, file)) printf("%s", version);
    use_gpu();
    CHECK(NOT_SET_UP, cuDriverGetVersion(&cuda));
    CHECK(NOT_SET_UP, cuDeviceGetName(name, sizeof name, 0));
    printf("GPU: %s; driver supports CUDA %d.%d\n", name, cuda / 1000, cuda % 1000 / 10);
    end(OK);
}

static void neighbour(void) /* keeps the GPU busy until killed */
{
    enum { BYTES = 33554432 };
    CUstream stream;
    CUdeviceptr device;
    void *host;
    use_gpu();
    CHECK(NOT_SET_UP, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(NOT_SET_UP, cuMemAlloc(&device, BYTES));
    CHECK(NOT_SET_UP, cuMemHostAlloc(&host, BYTES, 0));
    for (int round = 0;; round++) {
        for (int i = 0; i < 8; i++)
            CHECK(NOT_SET_UP, cuMemcpyHtoDAsync(device, host, BYTES, stream));
        CHECK(NOT_SET_UP, cuStreamSynchronize(stream));
        if (round == 0) {
            shared->busy++;
            alarm(0); /* from here on it lasts as long as its parent */
        }
    }
}

static void start_neighbour(void)
{
    int before = shared->busy;
    pid_t child = spawn();
    if (child == 0) neighbour();
    while (shared->busy == before)
        if (waitpid(child, NULL, WNOHANG)) {
            printf(" (a neighbour)\n");
            exit(NOT_SET_UP);
        }
}

static const char *const WORDS[256] = {[OK] = "ok", [NOT_SET_UP] = "not set up", [ERROR] = "error",
    [SEGFAULT] = "segfault", [HANG] = "hang", [ASYNC_ERROR] = "async_error", [CORRUPT] = "corrupt",
    [CRASH] = "crash"};
static const int ORDER[] = {OK, NOT_SET_UP, ERROR, ASYNC_ERROR, CORRUPT, HANG, CRASH, SEGFAULT};

/* A death or a hang is the driver's doing inside the calls under test alone. */
static int meaning(int status, int phase)
{
    if (WIFEXITED(status) && WORDS[WEXITSTATUS(status)]) return WEXITSTATUS(status);
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    printf("%s", !number ? "exit" : number == SIGALRM ? "no answer in time" : strsignal(number));
    if (phase != CALLING || number == SIGKILL || number == SIGTERM) return NOT_SET_UP;
    return number == SIGALRM ? HANG : number == SIGSEGV ? SEGFAULT : CRASH;
}

static int watch(int percopy)
{
    int status;
    shared->phase = SETTING_UP;
    pid_t child = spawn();
    if (child == 0) run(percopy);
    waitpid(child, &status, 0);
    return meaning(status, shared->phase);
}

int main(int argc, char **argv)
{
    int percopy = 0, times = 1, neighbours = 0, usage = 0;
    int status, worst = OK, tally[16] = {0};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--percopy")) percopy = 1;
        else if (!strcmp(argv[i], "--times") && sscanf(value, "%d", &times) == 1) i++;
        else if (!strcmp(argv[i], "--timeout") && sscanf(value, "%d", &timeout) == 1) i++;
        else if (!strcmp(argv[i], "--neighbours") && sscanf(value, "%d", &neighbours) == 1) i++;
        else if (!strcmp(argv[i], "--dump")) {
            describe();
            for (size_t k = 0; k < COUNT; k++)
                printf("%zu %zu %zu\n", source[k], destination[k], size[k]);
            return OK;
        } else usage = 1;
    }
    if (usage || times < 1 || timeout < 1 || neighbours < 0)
        errx(USAGE, "options: --percopy --times N --neighbours K --timeout SECONDS --dump");
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) err(NOT_SET_UP, "mmap");
    if (spawn() == 0) print_environment();
    if (wait(&status) < 0 || status) {
        printf("\nno usable GPU or driver\n");
        return NOT_SET_UP;
    }
    for (int i = 0; i < neighbours; i++) start_neighbour();
    printf("%d copies, %s, 10 times, %d neighbour(s)\n", COUNT,
           percopy ? "one cuMemcpyAsync each" : "one cuMemcpyBatchAsync", neighbours);
    for (int i = 1; i <= times; i++) {
        printf("run %d: ", i);
        status = watch(percopy);
        printf(" -> %s\n", WORDS[status]);
        tally[status]++;
    }
    for (int k = 0; k < 8; k++) {
        if (!tally[ORDER[k]]) continue;
        worst = ORDER[k];
        printf("%s: %d of %d\n", WORDS[worst], tally[worst], times);
    }
    return worst;
}

static const unsigned size_table[COUNT] = {
    4186, 2092, 2093, 4185, 11509, 1047, 1046, 9417, 4186, 1046, 6279, 3139, 3139, 15696, 1046,
    4185, 8371, 1046, 4186, 6278, 5231, 10464, 15695, 10463, 1047, 7324, 6279, 1046, 3139, 8371,
    12556, 1046, 12557, 1046, 13603, 1046, 3139, 1047, 9417, 3139, 1047, 6278, 5232, 7324, 7324,
    11510, 1046, 1046, 1047, 9417, 4186, 2092, 9417, 1047, 11509, 2092, 3140, 11509, 1047, 8370,
    3139, 1047, 8370, 4185, 11510, 13602, 12557, 2092, 14648, 2093, 9417, 14648, 15696, 10463,
    10464, 5231, 14648, 1047, 1046, 15695, 2093, 1046, 10464, 11509, 4185, 8371, 2092, 15695, 7325,
    3139, 1047, 1046, 13602, 11510, 1046, 5231, 5232, 4185, 7325, 12556, 14648, 8371, 2092, 1046,
    5232, 11509, 1047, 1046, 5231, 2093, 1046, 1046, 1047, 3139, 5232, 7324, 1046, 1047, 15695,
    2092, 4186, 4185, 2093, 6278, 6278, 3140, 1046, 1046, 7325, 10463, 12557, 2092, 6278, 1047,
    11509, 4185, 12557, 1046, 1047, 1046, 15695, 15696, 1046, 1046, 2093, 2092, 4185, 3140, 3139,
    9418, 3139, 15695, 13603, 3139, 4185, 4186, 6278, 14649, 1046, 1046, 2093, 10463, 15695, 15696,
    7324, 12557, 2092, 2092, 12557, 7324, 2092, 1047, 5231, 4186, 14648, 9417, 13603, 10463, 2092,
    6279, 1046, 12557, 7324, 2092, 9418, 7324, 1046, 2093, 7324, 6279, 2092, 13602, 1047, 8370,
    2092, 7325, 1046, 1047, 13602, 4185, 12557, 5231, 14648, 6279, 1046, 2093, 1046, 3139, 3140,
    8370, 10463, 1047, 10463, 4186, 11509, 4185, 1047, 14648, 14648, 1047, 11509, 1047, 1046, 4185,
    5232, 9417, 2092, 15696, 10463, 6279, 4185, 3139, 1047, 1046, 1046, 5232, 14648, 1047, 1046,
    13602, 4186, 1046, 2092, 5232, 5231, 1047, 2092, 11509, 12557, 9417, 7324, 8371, 10463, 6279,
    4185, 11509, 14649, 7324, 1046, 2093, 3139, 1047, 3139, 9417, 7325, 10463, 2092, 1047, 1046,
    1047, 1046, 2092, 5232, 2092, 1046, 10464, 2092, 15696, 11509, 10463, 5232, 4185, 13602, 2093,
    9417, 5232, 14648, 4185, 9418, 1046, 14648, 8371, 1046, 10463, 5232, 4185, 5232, 2092, 7324,
    1047, 7324, 7324, 8371, 12556, 5232, 1046, 5231, 7325, 13602, 3139, 5232, 1046, 2093, 4185,
    14648, 1047, 2092, 3139, 3140, 6278, 15696, 8370, 5231, 1047, 1046, 1046, 15696, 6278, 7325,
    1046, 7324, 7325, 2092, 2092, 1047, 7324, 2093, 1046, 1046, 7325, 2092, 3139, 1047, 2092, 3140,
    10463, 13602, 1047, 7324, 4185, 6279, 1046, 11510, 9417, 2092, 1047, 5231, 2092, 11510, 16741,
    1047, 9417, 1046, 3140, 2092, 12556, 1047, 2092, 1047, 11509, 7324, 2093, 2092, 8370, 10464,
    1046, 1047, 12556, 5231, 8371, 12556, 5231, 4186, 6278, 12557, 9417, 2092, 3140, 3139, 5231,
    2093, 1046, 1047, 3139, 1046, 8371, 1046, 15695, 1047, 6278, 2093, 2092, 4185, 1047, 1046, 7324,
    7325, 3139, 5232, 1046, 3139, 6279, 12556, 4185, 3140, 14648, 2093, 1046, 6278, 5232, 13602,
    2092, 1047, 7324, 11510, 3139, 1046, 4186, 3139, 14648, 6279, 1046, 1047, 9417, 2092, 3140,
    4185, 15695, 1047, 15695, 5231, 1047, 4185, 9418, 7324, 6278, 1047, 4185, 13602, 1047, 3139,
    1047, 3139, 12556, 1047, 5231, 3139, 1047, 1046, 2093, 3139, 1046, 1047, 13602, 1046, 2093,
    11509, 8371, 2092, 11509, 2093, 1046, 10463, 1047, 1046, 1047, 4185, 8370, 2093, 7324, 6278,
    6279, 1046, 14649, 8370, 12556, 2093, 1046, 13602, 15696, 10463, 14649, 12556, 1046, 1047, 1046,
    3139, 4186, 11509, 14649, 7324, 9417, 4186, 8370, 1046, 2093, 8370, 2093, 11509, 7324, 1047,
    2092, 14648, 2093, 15695, 11510, 3139, 2092, 14649, 1046, 15695, 1047, 1046, 5232, 7324, 14648,
    1047, 11509, 5231, 3140, 2092, 5232, 1046, 2092, 12557, 6278, 5231, 5232, 6278, 9418, 3139,
    6278, 2093, 10463, 2092, 2093, 11509, 15696, 7324, 3139, 13603, 1046, 2092, 6279, 9417, 11510,
    2092, 3139, 2093, 3139, 7324, 8371, 3139, 11510, 4185, 15695, 3140, 15695, 14648, 2093, 1046,
    8371, 3139, 3139, 7325, 3139, 12556, 2093, 2092, 4185, 2093, 1046, 13603, 4185, 1046, 10464,
    10463, 1046, 4186, 11509, 1047, 3139, 1046, 12557, 6278, 8370, 11510, 3139, 14649, 7324, 8370,
    14649, 2092, 5231, 1047, 1046, 6279, 5231, 2092, 10464, 2092, 3139, 1047, 11509, 1047, 2092,
    2092, 9418, 10463, 6278, 5232, 1046, 1047, 7324, 14648, 4186, 6278, 1046, 7325, 1046, 1047,
    12556, 1046, 6279, 13602, 1046, 3140, 1046, 9418, 12556, 3139, 2093, 1046, 8370, 1047, 13602,
    7325, 1046, 12556, 6279, 3139, 1046, 11510, 2092, 1047, 1046, 1046, 10464, 1046, 6278, 14649,
    7324, 3140, 10463, 2092, 10464, 8370, 5231, 13603, 11509, 4186, 5231, 1046, 1047, 1046, 6278,
    1047, 1046, 1047, 2092, 14648, 6279, 7324, 10463, 6279, 2092, 5232, 14648, 3139, 6279, 5231,
    1046, 4186, 1046, 4186, 1046, 2092, 1047, 6278, 16741, 9418, 1046, 4186, 14648, 3139, 3140,
    8370, 1046, 1047, 11509, 8371, 1046, 4185, 3140, 6278, 15695, 1047, 13602, 1047, 1046, 1046,
    2093, 6278, 1046, 15696, 4185, 4185, 11510, 2092, 4186, 14648, 1046, 9418, 5231, 12556, 8371,
    7324, 3140, 4185, 15695, 6279, 6278, 1046, 1047, 15695, 11510, 12556, 12556, 6279, 10463, 7324,
    9418, 15695, 1047, 3139, 2092, 15696, 5231, 1046, 3140, 4185, 5232, 9417, 12556, 1047, 11509,
    12556, 12557, 2092, 3140, 11509, 1046, 9418, 4185, 1046, 3140, 1046, 4186, 2092, 1046, 1047,
    1046, 15695, 1047, 15695, 8371, 1046, 1046, 10464, 2092, 2092, 14649, 1046, 6279, 2092, 6278,
    3140, 2092, 8370, 1047, 1046, 7325, 7324, 7324, 4186, 1046, 3139, 2093, 5231, 2093, 8370, 1046,
    7325, 1046, 6278, 13603, 10463, 1047, 8370, 6278, 14649, 6278, 1046, 1047, 1046, 9418, 1046,
    10463, 1047, 8370, 11509, 2093, 15695, 9418, 1046, 5231, 3140, 7324, 12556, 1047, 2092, 12557,
    9417, 2092, 1047, 2092, 7324, 8371, 3139, 1047, 8370, 11509, 4186, 8370, 4185, 16742, 2092,
    4186, 7324, 2092, 1047, 6278, 4185, 10464, 1046, 1047, 7324, 7324, 9418, 12556, 3139, 7325,
    8370, 1046, 9418, 2092, 14649, 1046, 9417, 7325, 1046, 3139, 5232, 1046, 10464, 8370, 5231,
    9418, 4185, 1046, 4186, 2092, 14649, 3139, 4185, 6279, 14648, 12556, 2093, 15695, 12557, 5231,
    14648, 1047, 9417, 2092, 7325, 5231, 1047, 7324, 13602, 2093, 1046, 1046, 3140, 5231, 10464,
    1046, 3139, 1047, 7324, 4185, 1047, 4185, 1047, 6278, 1046, 2093, 2092, 14648, 1047, 1046,
    11510, 1046, 1046, 7325, 7324, 1046, 1047, 3139, 11510, 1046, 14648, 8371, 7324, 13602, 4186,
    1046, 1047, 13602, 6278, 3140, 5231, 12556, 13603, 12556, 4186, 10463, 11509, 9418, 2092, 4185,
    1047, 1046, 1047, 2092, 15695, 14649, 4185, 15695, 14649, 3139, 9418, 14648, 10463, 13603, 5231,
    7324, 1047, 1046, 13603, 4185, 2092, 1047, 14648, 1046, 1047, 2092, 5232, 5231, 1046, 1047,
    4185, 7324, 6279, 1046, 7325, 7324, 1046, 6279, 12556, 4185, 1047, 9417, 1047, 2092, 2092,
    15696, 12556, 1046, 6279, 1046, 1047, 3139, 6278, 8371, 4185, 15695, 1047, 13602, 1046, 1047,
    1046, 5232, 10463, 5231, 4186, 11509, 1046, 12557, 5231, 3140, 10463, 1046, 1047, 1046, 14648,
    1047, 7324, 7325, 3139, 6278, 12557, 11509, 1046, 11510, 1046, 7325, 15695, 10463, 1047, 7324,
    14648, 12557, 12556, 12557, 3139, 14648, 13603, 2092, 9417, 11510, 8370, 8371, 3139, 2092, 1047,
    10463, 4185, 1047, 1046, 1047, 6278, 7324, 14649, 7324, 2092, 6279, 8370, 6279, 1046, 12556,
    5232, 4185, 1046, 9418, 9417, 2093, 15695, 5231, 2093, 1046, 2092, 11510, 2092, 5232, 10463,
    1046, 2093, 3139, 12556, 8371, 9417, 6279, 6278, 7324, 6279, 2092, 15695, 1047, 8370, 10464,
    2092, 4185, 15696, 5231, 5231, 1047, 8370, 7325, 2092, 4185, 7325, 7324, 1046, 1047, 14648,
    1047, 8370, 2092, 12557, 13602, 1046, 2093, 3139, 1047, 13602, 3139, 4186, 9417, 1046, 13603,
    7324, 1047, 8370, 1046, 1047, 8370, 9417, 3140, 5231, 1047, 2092, 1046, 2093, 1046, 1046, 15696,
    9417, 12556,
};
