/* SPDX-License-Identifier: GPL-3.0-or-later */
/* driver: the CUDA driver library, loaded with dlopen at its first use.
 * The build and the program need no CUDA toolkit: types are declared here, and tests compare them
 * with cuda.h. A driver that has started is never unloaded. */
#ifndef SPECLAB_DRIVER_H
#define SPECLAB_DRIVER_H

#include "models/gpu/driver_functions.h"
#include "models/gpu/gpu_settings.h"
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

typedef struct {
    int id;
    union {
        char pad[64];
        int programmaticStreamSerializationAllowed;
    } value __attribute__((aligned(8)));
} CUlaunchAttribute;

typedef struct {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

#define SPEC_DRIVER_FIELD(type, field, offset)                                                     \
    _Static_assert(offsetof(type, field) == (offset), #field);
SPEC_DRIVER_FIELDS(SPEC_DRIVER_FIELD)
#undef SPEC_DRIVER_FIELD
#define SPEC_DRIVER_STRUCT(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
SPEC_DRIVER_STRUCTS(SPEC_DRIVER_STRUCT)
#undef SPEC_DRIVER_STRUCT

#define SPEC_DRIVER_NUMBER(name, number) name = number,
enum { SPEC_DRIVER_NUMBERS(SPEC_DRIVER_NUMBER) };
#undef SPEC_DRIVER_NUMBER

#define SPEC_DRIVER_POINTER(name, parameters) CUresult(*name) parameters;
typedef struct {
    int version; /* 13000 is CUDA 13.0 */
    SPEC_DRIVER_FUNCTIONS(SPEC_DRIVER_POINTER)
} spec_driver;
#undef SPEC_DRIVER_POINTER

enum { SPEC_DRIVER_OLDEST = 12000 }; /* CUDA 12.0 */

/* Loads and initialises the driver. Returns GSL_EFAILED, naming what is missing: the library, one
 * of its functions (an old driver), or a GPU; the driver is then zeroed. */
int spec_driver_load(spec_driver *driver, const spec_gpu_settings *settings, spec_error *error);

/* Writes, for example, "CUDA_ERROR_OUT_OF_MEMORY (out of memory)". */
void spec_driver_describe(char *text, size_t size, const spec_driver *driver, CUresult result);

#endif
