/*
 * A stand-in for libcuda.so.1, small enough to read: what bisect's CUDA driver calls, and nothing else.
 *
 * "Device" memory is plain memory whose bounds are known. A stream is a list of work that is done when somebody
 * synchronises with it, so that a source overwritten too early, or a stream that is blocked, behaves as on hardware.
 * The rules of cuMemcpyBatchAsync are those measured on driver 580 (both ABIs).
 *
 * Environment:
 *   FAKECUDA_FAULT=kind:count[:call]  the call-th batch call (1 when not said) of count or more copies fails:
 *                                     segfault, abort, spin, block, error, async, corrupt, late (reads a
 *                                     during_api_call source only when the stream gets there), swallow (accepts
 *                                     invalid descriptors), silent (fails without writing failIdx), full (waits for
 *                                     all that the stream was given before, as when its queue is full)
 *   FAKECUDA_VERSION=12040            the CUDA version that the driver supports; no batch call before 12080
 *   FAKECUDA_DEVICES=0                number of devices
 *   FAKECUDA_MEMORY=bytes             device memory
 *   FAKECUDA_LOG=file                 one line for each call that tests look at
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct { unsigned order, src_type; int src_id; unsigned dst_type; int dst_id; unsigned flags; } Attributes;

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201,
       INVALID_HANDLE = 400, NOT_FOUND = 500, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713, LAUNCH_FAILED = 719 };
enum { DURING_API_CALL = 2 };

/* -- settings ------------------------------------------------------------------------------------------------------ */

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

static int fault(const char *kind, size_t count, int call)
{
    const char *text = getenv("FAKECUDA_FAULT");
    char name[32] = "";
    unsigned long least = 1;
    int which = 1;
    if (!text || sscanf(text, "%31[a-z]:%lu:%d", name, &least, &which) < 1) return 0;
    return !strcmp(name, kind) && count >= least && call == which;
}

static void note(const char *format, ...)
{
    const char *path = getenv("FAKECUDA_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    fclose(file);
}

/* -- memory -------------------------------------------------------------------------------------------------------- */

typedef struct { char *base; size_t size; const char *kind; } Range;
static Range ranges[4096];
static size_t range_count, device_used;
static int current, sticky;

static size_t device_memory(void) { return (size_t)setting("FAKECUDA_MEMORY", 1L << 34); }

static Range *find(CUdeviceptr address)
{
    for (size_t i = 0; i < range_count; i++)
        if (ranges[i].base && (char *)address >= ranges[i].base && (char *)address < ranges[i].base + ranges[i].size)
            return &ranges[i];
    return NULL;
}

static CUresult add(const char *kind, char *base, size_t size)
{
    if (!base) return OUT_OF_MEMORY;
    ranges[range_count++] = (Range){base, size, kind};
    note("alloc %s %zu", kind, size);
    return SUCCESS;
}

static CUresult allocate(const char *kind, void **out, size_t size)
{
    if (!current) return INVALID_CONTEXT;
    if (!size) return INVALID_VALUE;
    if (strcmp(kind, "pinned")) {
        if (device_used + size > device_memory()) return OUT_OF_MEMORY;
        device_used += size;
    }
    *out = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    return add(kind, *out, size);
}

static CUresult release(const char *kind, void *address)
{
    Range *range = find((CUdeviceptr)address);
    if (!range || range->base != address || strcmp(range->kind, kind)) return INVALID_VALUE;
    note("free %s %zu", kind, range->size);
    if (strcmp(kind, "registered")) free(address);
    range->base = NULL;
    return SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size) { return allocate("device", (void **)out, size); }
CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned flags)
{
    return flags == 1 ? allocate("managed", (void **)out, size) : INVALID_VALUE;
}
CUresult cuMemHostAlloc(void **out, size_t size, unsigned flags) { (void)flags; return allocate("pinned", out, size); }
CUresult cuMemFree_v2(CUdeviceptr address)
{
    Range *range = find(address);
    return range ? release(range->kind, (void *)address) : INVALID_VALUE;
}
CUresult cuMemFreeHost(void *address) { return release("pinned", address); }
CUresult cuMemHostUnregister(void *address) { return release("registered", address); }
CUresult cuMemHostRegister_v2(void *address, size_t size, unsigned flags)
{
    (void)flags;
    if (!current) return INVALID_CONTEXT;
    if (find((CUdeviceptr)address) || find((CUdeviceptr)address + size - 1)) return ALREADY_REGISTERED;
    return add("registered", address, size);
}
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *address, unsigned flags)
{
    (void)flags;
    *out = (CUdeviceptr)address;
    return find(*out) ? SUCCESS : INVALID_VALUE;
}
CUresult cuMemGetInfo_v2(size_t *available, size_t *total)
{
    *total = device_memory();
    *available = *total - device_used;
    return current ? SUCCESS : INVALID_CONTEXT;
}

/* -- streams ------------------------------------------------------------------------------------------------------- */

typedef struct Work Work;
typedef struct Stream { Work *first, **last; } Stream;
typedef struct Event { Stream *stream; Work **until; } Event;
struct Work {
    enum { COPY, SET, WAIT_VALUE, WAIT_EVENT } kind;
    void *dst;
    const void *src;
    size_t size;
    unsigned value;
    Event *event;
    Work *next;
};

static Stream shared = {NULL, &shared.first};

static Stream *stream_at(void *handle) { return (uintptr_t)handle <= 2 ? &shared : handle; }

static void queue(void *handle, Work work)
{
    Stream *stream = stream_at(handle);
    Work *copy = malloc(sizeof work);
    *copy = work;
    copy->next = NULL;
    if (!stream->last) stream->last = &stream->first;
    *stream->last = copy;
    stream->last = &copy->next;
}

static void perform(Stream *stream, Work **until)
{
    while (stream->first) {
        Work *work = stream->first;
        int was_last = &work->next == until;
        switch (work->kind) {
        case COPY: memmove(work->dst, work->src, work->size); break;
        case SET: memset(work->dst, (int)work->value, work->size); break;
        case WAIT_VALUE:
            while (*(volatile unsigned *)work->dst < work->value) usleep(200);
            break;
        case WAIT_EVENT: perform(work->event->stream, work->event->until); break;
        }
        stream->first = work->next;
        if (!stream->first) stream->last = &stream->first;
        free(work);
        if (was_last) return;
    }
}

CUresult cuStreamCreate(void **out, unsigned flags)
{
    *out = calloc(1, sizeof(Stream));
    note("stream_create %u", flags);
    return current ? SUCCESS : INVALID_CONTEXT;
}
CUresult cuStreamDestroy_v2(void *handle) { note("stream_destroy"); free(handle); return SUCCESS; }
CUresult cuStreamSynchronize(void *handle)
{
    note("synchronise %s", (uintptr_t)handle <= 2 ? "shared" : "own");
    if (sticky) return sticky;
    perform(stream_at(handle), NULL);
    return SUCCESS;
}
CUresult cuCtxSynchronize(void) { return sticky; }
CUresult cuEventCreate(void **out, unsigned flags) { (void)flags; *out = calloc(1, sizeof(Event)); return SUCCESS; }
CUresult cuEventDestroy_v2(void *event) { free(event); return SUCCESS; }
CUresult cuEventRecord(void *handle, void *stream)
{
    Event *event = handle;
    event->stream = stream_at(stream);
    event->until = event->stream->last;
    return SUCCESS;
}
CUresult cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)flags;
    note("wait_event");
    queue(stream, (Work){.kind = WAIT_EVENT, .event = event});
    return SUCCESS;
}
CUresult cuStreamWaitValue32_v2(void *stream, CUdeviceptr address, unsigned value, unsigned flags)
{
    if (flags != 0 || !find(address)) return INVALID_VALUE;
    queue(stream, (Work){.kind = WAIT_VALUE, .dst = (void *)address, .value = value});
    return SUCCESS;
}

/* -- plain copies -------------------------------------------------------------------------------------------------- */

static int inside(CUdeviceptr address, size_t size)
{
    Range *range = find(address);
    return !range || (char *)address + size <= range->base + range->size;
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, void *stream)
{
    if (sticky) return sticky;
    if (!size) return SUCCESS;
    if (!dst || !src || !inside(dst, size) || !inside(src, size)) return INVALID_VALUE;
    queue(stream, (Work){.kind = COPY, .dst = (void *)dst, .src = (void *)src, .size = size});
    return SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, void *stream)
{
    note("copy_async %zu", size);
    return cuMemcpyAsync(dst, (CUdeviceptr)src, size, stream);
}
CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t size, void *stream)
{
    if (!inside(dst, size)) return INVALID_VALUE;
    note("memset_async %zu", size);
    queue(stream, (Work){.kind = SET, .dst = (void *)dst, .value = value, .size = size});
    return SUCCESS;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t size)
{
    if (sticky) return sticky;
    memcpy((void *)dst, src, size);
    return SUCCESS;
}
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size)
{
    if (sticky) return sticky;
    memcpy(dst, (void *)src, size);
    return SUCCESS;
}
CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t size)
{
    memset((void *)dst, value, size);
    return SUCCESS;
}

/* -- the batch call ------------------------------------------------------------------------------------------------ */

static int batch_calls;

/* Returns the first wrong descriptor, count when all are right. */
static size_t wrong_descriptor(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!dsts[i] || !srcs[i] || !sizes[i] || !inside(dsts[i], sizes[i]) || !inside(srcs[i], sizes[i])) return i;
    return count;
}

static int wrong_call(size_t count, Attributes *attrs, size_t *starts, size_t attr_count, void *stream)
{
    if ((uintptr_t)stream <= 1 || !count || !attr_count || attr_count > count || starts[0] != 0) return 1;
    for (size_t k = 0; k < attr_count; k++) {
        if (attrs[k].order < 1 || attrs[k].order > 3 || attrs[k].flags > 1) return 1;
        if (k && (starts[k] <= starts[k - 1] || starts[k] >= count)) return 1;
    }
    return 0;
}

static void enact(size_t count)
{
    if (fault("segfault", count, batch_calls)) *(volatile int *)0 = 1;
    if (fault("abort", count, batch_calls)) abort();
    if (fault("spin", count, batch_calls)) for (volatile int on = 1; on;) {}
    if (fault("block", count, batch_calls)) for (;;) pause();
    if (fault("async", count, batch_calls)) sticky = LAUNCH_FAILED;
}

static CUresult batch(int abi, CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, Attributes *attrs,
                      size_t *starts, size_t attr_count, size_t *fail_index, void *stream)
{
    batch_calls++;
    note("batch %d count=%zu attrs=%zu second=%zu order=%u flags=%u stream=%s", abi, count, attr_count,
         attr_count > 1 ? starts[1] : 0, attrs[0].order, attrs[0].flags,
         (uintptr_t)stream == 1 ? "legacy" : (uintptr_t)stream == 2 ? "per_thread" : "dedicated");
    if (sticky) return sticky;
    if (wrong_call(count, attrs, starts, attr_count, stream)) return INVALID_VALUE;
    int swallow = fault("swallow", count, batch_calls);
    size_t wrong = fault("error", count, batch_calls) ? count / 2 : wrong_descriptor(dsts, srcs, sizes, count);
    if (fault("silent", count, batch_calls)) return INVALID_VALUE;
    if (wrong < count && !swallow) {
        if (fail_index) *fail_index = wrong;
        return INVALID_VALUE;
    }
    enact(count);
    if (fault("full", count, batch_calls)) perform(stream_at(stream), NULL);
    int at_once = attrs[0].order == DURING_API_CALL && !fault("late", count, batch_calls);
    for (size_t i = 0; i < count; i++) {
        if (i == wrong) continue;
        if (at_once) memmove((void *)dsts[i], (void *)srcs[i], sizes[i]);
        else queue(stream, (Work){.kind = COPY, .dst = (void *)dsts[i], .src = (void *)srcs[i], .size = sizes[i]});
    }
    if (fault("corrupt", count, batch_calls))
        queue(stream, (Work){.kind = SET, .dst = (void *)dsts[count / 2], .value = ~*(unsigned char *)srcs[count / 2],
                             .size = 1});
    return SUCCESS;
}

static CUresult batch_12080(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, Attributes *attrs,
                            size_t *starts, size_t attr_count, size_t *fail_index, void *stream)
{
    return batch(12080, dsts, srcs, sizes, count, attrs, starts, attr_count, fail_index, stream);
}
static CUresult batch_13000(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, Attributes *attrs,
                            size_t *starts, size_t attr_count, void *stream)
{
    return batch(13000, dsts, srcs, sizes, count, attrs, starts, attr_count, NULL, stream);
}

/* -- devices and the rest ------------------------------------------------------------------------------------------ */

CUresult cuInit(unsigned flags) { (void)flags; return setting("FAKECUDA_DEVICES", 1) ? SUCCESS : NO_DEVICE; }
CUresult cuGetErrorName(CUresult error, const char **out)
{
    *out = error == INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : error == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : NULL;
    return *out ? SUCCESS : INVALID_VALUE;
}
CUresult cuDriverGetVersion(int *out) { *out = (int)setting("FAKECUDA_VERSION", 13000); return SUCCESS; }
CUresult cuDeviceGetCount(int *out) { *out = (int)setting("FAKECUDA_DEVICES", 1); return SUCCESS; }
CUresult cuDeviceGet(int *out, int ordinal)
{
    *out = ordinal;
    return ordinal < setting("FAKECUDA_DEVICES", 1) ? SUCCESS : INVALID_DEVICE;
}
CUresult cuDeviceGetName(char *out, int length, int device) { (void)device; snprintf(out, (size_t)length, "Stand-in GPU"); return SUCCESS; }
CUresult cuDeviceGetUuid_v2(unsigned char *out, int device) { for (int i = 0; i < 16; i++) out[i] = (unsigned char)(device + i); return SUCCESS; }
CUresult cuDeviceGetPCIBusId(char *out, int length, int device) { snprintf(out, (size_t)length, "0000:%02X:00.0", device + 10); return SUCCESS; }
CUresult cuDeviceTotalMem_v2(size_t *out, int device) { (void)device; *out = device_memory(); return SUCCESS; }
CUresult cuDeviceGetAttribute(int *out, int attribute, int device) { (void)device; *out = attribute == 75 ? 9 : 0; return SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(void **out, int device) { *out = (void *)(uintptr_t)(device + 1); return SUCCESS; }
CUresult cuCtxSetCurrent(void *context) { current = context != NULL; return SUCCESS; }

static void *function(const char *symbol, int version)
{
    static const struct { const char *name; void *function; } known[] = {
#define F(name) {#name, (void *)name}
#define V2(name) {#name, (void *)name##_v2}
        F(cuInit), F(cuDriverGetVersion), F(cuDeviceGetCount), F(cuDeviceGet), F(cuDeviceGetName), V2(cuDeviceGetUuid),
        F(cuDeviceGetPCIBusId), V2(cuDeviceTotalMem), F(cuDeviceGetAttribute), F(cuDevicePrimaryCtxRetain),
        F(cuCtxSetCurrent), F(cuCtxSynchronize), V2(cuMemAlloc), F(cuMemAllocManaged), F(cuMemHostAlloc), V2(cuMemFree),
        F(cuMemFreeHost), F(cuMemHostUnregister), V2(cuMemHostRegister), V2(cuMemHostGetDevicePointer),
        V2(cuMemGetInfo), F(cuStreamCreate), V2(cuStreamDestroy), F(cuStreamSynchronize), F(cuEventCreate),
        V2(cuEventDestroy), F(cuEventRecord), F(cuStreamWaitEvent), V2(cuStreamWaitValue32), F(cuMemcpyAsync),
        V2(cuMemcpyHtoDAsync), F(cuMemsetD8Async), V2(cuMemcpyHtoD), V2(cuMemcpyDtoH), V2(cuMemsetD8),
    };
    if (!strcmp(symbol, "cuMemcpyBatchAsync")) {
        if (version < 12080 || setting("FAKECUDA_VERSION", 13000) < version) return NULL;
        return version < 13000 ? (void *)batch_12080 : (void *)batch_13000;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, symbol)) return known[i].function;
    return NULL;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, int *status);
CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, int *status)
{
    (void)flags;
    *out = !strncmp(symbol, "cuGetProcAddress", 16) ? (void *)cuGetProcAddress_v2 : function(symbol, version);
    if (status) *status = *out ? 0 : 1;
    return *out ? SUCCESS : NOT_FOUND;
}
CUresult cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(symbol, out, version, flags, NULL);
}
