/* What reproduce.c needs of CUDA's own cuda.h (12.8 or newer), for machines without the toolkit. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef int CUresult, CUdevice, CUdriverProcAddressQueryResult, CUmemcpySrcAccessOrder;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct { int type, id; } CUmemLocation;
typedef struct { int srcAccessOrder; CUmemLocation srcLocHint, dstLocHint; unsigned flags; } CUmemcpyAttributes;

enum { CUDA_SUCCESS = 0, CUDA_ERROR_OUT_OF_MEMORY = 2, CU_MEM_ATTACH_GLOBAL = 1, CU_STREAM_NON_BLOCKING = 1,
       CU_EVENT_DISABLE_TIMING = 2,
       CU_MEMHOSTALLOC_DEVICEMAP = 2, CU_STREAM_WAIT_VALUE_GEQ = 0, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1,
       CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2, CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3 };
#define CU_STREAM_LEGACY ((CUstream)1)
#define CU_STREAM_PER_THREAD ((CUstream)2)

#define cuGetProcAddress cuGetProcAddress_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemHostRegister cuMemHostRegister_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuStreamWaitValue32 cuStreamWaitValue32_v2

CUresult cuInit(unsigned), cuDriverGetVersion(int *), cuGetErrorName(CUresult, const char **);
CUresult cuGetProcAddress(const char *, void **, int, uint64_t, CUdriverProcAddressQueryResult *);
CUresult cuDeviceGetCount(int *), cuDeviceGet(CUdevice *, int), cuDeviceGetName(char *, int, CUdevice);
CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice), cuCtxSetCurrent(CUcontext), cuCtxSynchronize(void);
CUresult cuMemAlloc(CUdeviceptr *, size_t), cuMemAllocManaged(CUdeviceptr *, size_t, unsigned);
CUresult cuMemHostAlloc(void **, size_t, unsigned), cuMemHostRegister(void *, size_t, unsigned);
CUresult cuMemHostGetDevicePointer(CUdeviceptr *, void *, unsigned);
CUresult cuStreamCreate(CUstream *, unsigned), cuStreamSynchronize(CUstream);
CUresult cuEventCreate(CUevent *, unsigned), cuEventRecord(CUevent, CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuStreamWaitValue32(CUstream, CUdeviceptr, uint32_t, unsigned);
CUresult cuMemcpyAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpyHtoDAsync(CUdeviceptr, const void *, size_t, CUstream);
CUresult cuMemcpyHtoD(CUdeviceptr, const void *, size_t), cuMemcpyDtoH(void *, CUdeviceptr, size_t);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);
