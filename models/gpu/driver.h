/* driver: the CUDA driver's library, loaded when it is first asked for.
 * Nothing of the toolkit is needed to build or to run: names and types are our own, and tests hold them against cuda.h.
 * SPECLAB_LIBCUDA in the environment names another library than libcuda.so.1. */
#ifndef SPECLAB_DRIVER_H
#define SPECLAB_DRIVER_H

#include "models/gpu/driver_functions.h"
#include "speclab/status.h"

#include <stddef.h>

typedef int CUresult; /* 0: success */
typedef int CUdevice, CUdevice_attribute, CUfunction_attribute, CUstreamCaptureMode;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

/* The numbers in cuda.h that are used. */
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_STREAM_NON_BLOCKING = 1,
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1
};

#define SPEC_DRIVER_FIELD(name, parameters) CUresult(*name) parameters;
typedef struct {
    int version; /* 13000 is CUDA 13.0 */
    SPEC_DRIVER_FUNCTIONS(SPEC_DRIVER_FIELD)
} spec_driver;
#undef SPEC_DRIVER_FIELD

enum { SPEC_DRIVER_OLDEST = 12000 }; /* CUDA 12.0 */

/* The driver, initialised; loaded once a process. GSL_EFAILED with a line that says what is missing: the library, a
 * function of it (an old driver), a card; it is then looked for again the next time. */
int spec_driver_load(const spec_driver **ret_driver, spec_error *error);

/* "CUDA_ERROR_OUT_OF_MEMORY (out of memory)". */
void spec_driver_describe(char *text, size_t size, const spec_driver *driver, CUresult result);

#endif
