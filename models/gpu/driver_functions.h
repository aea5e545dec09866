/* SPDX-License-Identifier: GPL-3.0-or-later */
/* driver_functions: the functions, constants and struct layouts of the CUDA driver that we use.
 * A test compares them with the toolkit's header and its stub library; the simulator
 * (tests/simulator) implements the same functions.
 * X(name, parameters) */
#ifndef SPECLAB_DRIVER_FUNCTIONS_H
#define SPECLAB_DRIVER_FUNCTIONS_H

#define SPEC_DRIVER_FUNCTIONS(X)                                                                   \
    X(cuInit, (unsigned flags))                                                                    \
    X(cuDriverGetVersion, (int *version))                                                          \
    X(cuGetErrorName, (CUresult result, const char **name))                                        \
    X(cuGetErrorString, (CUresult result, const char **text))                                      \
    X(cuDeviceGetCount, (int *count))                                                              \
    X(cuDeviceGet, (CUdevice * device, int ordinal))                                               \
    X(cuDeviceGetName, (char *name, int size, CUdevice device))                                    \
    X(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device))           \
    X(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                      \
    X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                            \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                             \
    X(cuCtxSetCurrent, (CUcontext context))                                                        \
    X(cuMemGetInfo_v2, (size_t * free, size_t * total))                                            \
    X(cuMemAlloc_v2, (CUdeviceptr * memory, size_t bytes))                                         \
    X(cuMemFree_v2, (CUdeviceptr memory))                                                          \
    X(cuMemAllocHost_v2, (void **memory, size_t bytes))                                            \
    X(cuMemFreeHost, (void *memory))                                                               \
    X(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes))                           \
    X(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes))                                 \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))     \
    X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))           \
    X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))       \
    X(cuModuleLoadData, (CUmodule * module, const void *image))                                    \
    X(cuModuleUnload, (CUmodule module))                                                           \
    X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))             \
    X(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function))       \
    X(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value))        \
    X(cuStreamCreate, (CUstream * stream, unsigned flags))                                         \
    X(cuStreamDestroy_v2, (CUstream stream))                                                       \
    X(cuStreamSynchronize, (CUstream stream))                                                      \
    X(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))                        \
    X(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                      \
    X(cuGraphInstantiateWithFlags,                                                                 \
      (CUgraphExec * recording, CUgraph graph, unsigned long long flags))                          \
    X(cuGraphUpload, (CUgraphExec recording, CUstream stream))                                     \
    X(cuGraphLaunch, (CUgraphExec recording, CUstream stream))                                     \
    X(cuGraphExecDestroy, (CUgraphExec recording))                                                 \
    X(cuGraphDestroy, (CUgraph graph))                                                             \
    X(cuLaunchKernelEx,                                                                            \
      (const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra))        \
    X(cuEventCreate, (CUevent * event, unsigned flags))                                            \
    X(cuEventRecord, (CUevent event, CUstream stream))                                             \
    X(cuEventElapsedTime, (float *milliseconds, CUevent begin, CUevent end))                       \
    X(cuEventDestroy_v2, (CUevent event))

/* X(name, number): constants of cuda.h. */
#define SPEC_DRIVER_NUMBERS(X)                                                                     \
    X(CUDA_SUCCESS, 0)                                                                             \
    X(CUDA_ERROR_INVALID_VALUE, 1)                                                                 \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                 \
    X(CUDA_ERROR_NOT_INITIALIZED, 3)                                                               \
    X(CUDA_ERROR_STUB_LIBRARY, 34)                                                                 \
    X(CUDA_ERROR_NO_DEVICE, 100)                                                                   \
    X(CUDA_ERROR_INVALID_DEVICE, 101)                                                              \
    X(CUDA_ERROR_INVALID_IMAGE, 200)                                                               \
    X(CUDA_ERROR_INVALID_CONTEXT, 201)                                                             \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                                           \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                                                     \
    X(CUDA_ERROR_INVALID_HANDLE, 400)                                                              \
    X(CUDA_ERROR_NOT_FOUND, 500)                                                                   \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                             \
    X(CUDA_ERROR_LAUNCH_FAILED, 719)                                                               \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)                                                      \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)                                                  \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                \
    X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                                       \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                            \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                            \
    X(CU_FUNC_ATTRIBUTE_PTX_VERSION, 5)                                                            \
    X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                                                  \
    X(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9)                                       \
    X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)                                    \
    X(CU_STREAM_NON_BLOCKING, 1)                                                                   \
    X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)

/* X(type, field, offset): fields of structs of cuda.h that driver.h declares. */
#define SPEC_DRIVER_FIELDS(X)                                                                      \
    X(CUlaunchConfig, gridDimX, 0)                                                                 \
    X(CUlaunchConfig, gridDimY, 4)                                                                 \
    X(CUlaunchConfig, gridDimZ, 8)                                                                 \
    X(CUlaunchConfig, blockDimX, 12)                                                               \
    X(CUlaunchConfig, blockDimY, 16)                                                               \
    X(CUlaunchConfig, blockDimZ, 20)                                                               \
    X(CUlaunchConfig, sharedMemBytes, 24)                                                          \
    X(CUlaunchConfig, hStream, 32)                                                                 \
    X(CUlaunchConfig, attrs, 40)                                                                   \
    X(CUlaunchConfig, numAttrs, 48)                                                                \
    X(CUlaunchAttribute, id, 0)                                                                    \
    X(CUlaunchAttribute, value.programmaticStreamSerializationAllowed, 8)                          \
    X(CUlaunchAttribute, value.pad, 8)

/* X(type, bytes) */
#define SPEC_DRIVER_STRUCTS(X) X(CUlaunchConfig, 56) X(CUlaunchAttribute, 72)

#endif
