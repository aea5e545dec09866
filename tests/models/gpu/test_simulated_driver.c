/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulated GPU finds misuse of memory, and its settings and answers are those of a real
 * driver. */
#include "tests/models/gpu/planted_host.h"
#include "tests/support/support.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static int mistake;

static void misuse(void)
{
    float out[N + 1];
    CUstream other;
    begin();
    if (mistake == 0) (void)cuda.cuMemcpyDtoH_v2(out, y, sizeof out);
    if (mistake == 1) (void)cuda.cuMemcpyHtoDAsync_v2(y, pinned + 1, sizeof host_x, stream);
    if (mistake == 2) (void)cuda.cuMemcpyDtoHAsync_v2(out, y, sizeof host_x, stream);
    if (mistake == 3) (void)cuda.cuMemsetD8Async(y + 4, 0, sizeof host_x, stream);
    if (mistake == 4) {
        WORKS(cuda.cuMemFree_v2(y));
        (void)cuda.cuMemFree_v2(y);
    }
    if (mistake == 5) {
        WORKS(cuda.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
        WORKS(cuda.cuStreamDestroy_v2(other));
        (void)cuda.cuStreamSynchronize(other);
    }
    if (mistake == 6) (void)cuda.cuMemFreeHost(out);
    if (mistake == 7) close_card();
    _exit(0);
}

TEST(misuse_of_memory_and_streams_is_named)
{
    static const char *const lines[] = {
        "simulator: a copy of 4100 bytes where the card's memory has 4096\n",
        "simulator: a copy in a stream of 4096 bytes where the host's pinned memory has 4092\n",
        "simulator: a copy in a stream of 4096 bytes where the host's pinned memory has 0\n",
        "simulator: filling of 4096 bytes where the card's memory has 4092\n",
        "is freed, but is not an allocation\n",
        "simulator: a stream is used that does not exist\n",
        "is freed, but is not an allocation\n",
        "simulator: the context is released while there still are 2 allocations, 1 of pinned "
        "memory, 0 streams, 0 events, 0 "
        "graphs, 0 modules\n",
    };
    for (mistake = 0; mistake < (int)(sizeof lines / sizeof lines[0]); mistake++) {
        child(misuse, NULL, NULL);
        ends(3, lines[mistake]);
    }
}

static void fill_memory(void)
{
    CUdeviceptr memory[3];
    size_t free_bytes, total;
    open_card();
    WORKS(cuda.cuMemGetInfo_v2(&free_bytes, &total));
    HOLDS(total == 1 << 20 && free_bytes == total);
    WORKS(cuda.cuMemAlloc_v2(&memory[0], 1000000));
    HOLDS(memory[0] % 256 == 0);
    HOLDS(cuda.cuMemAlloc_v2(&memory[1], 100000) == CUDA_ERROR_OUT_OF_MEMORY);
    HOLDS(cuda.cuMemAlloc_v2(&memory[1], (size_t)1 << 62) == CUDA_ERROR_OUT_OF_MEMORY);
    HOLDS(cuda.cuMemAlloc_v2(&memory[1], 0) == CUDA_ERROR_INVALID_VALUE);
    WORKS(cuda.cuMemAlloc_v2(&memory[2], 1));
    WORKS(cuda.cuMemFree_v2(memory[0]));
    WORKS(cuda.cuMemFree_v2(memory[2]));
    WORKS(cuda.cuMemGetInfo_v2(&free_bytes, &total));
    HOLDS(free_bytes == total);
    close_card();
}

TEST(the_simulated_memory_has_its_set_size)
{
    child(fill_memory, "SIM_MEMORY=0x100000", NULL);
    ends(0, "");
}

/* ---- answers --------------------------------------------------------------------------------- */

static void fault(void)
{
    float out[N];
    begin();
    launch(stream, "planted_copy", y, x);
    WORKS(cuda.cuStreamSynchronize(stream));
    launch(stream, "planted_copy", y, x);
    HOLDS(cuda.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    HOLDS(cuda.cuMemcpyHtoDAsync_v2(y, pinned, 4, stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    HOLDS(get(y, out) == CUDA_ERROR_ILLEGAL_ADDRESS);
    HOLDS(cuda.cuMemFree_v2(x) == CUDA_ERROR_ILLEGAL_ADDRESS &&
          cuda.cuMemFree_v2(y) == CUDA_ERROR_ILLEGAL_ADDRESS);
    HOLDS(cuda.cuMemFreeHost(pinned) == CUDA_ERROR_ILLEGAL_ADDRESS);
    HOLDS(cuda.cuStreamDestroy_v2(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    (void)cuda.cuModuleUnload(module);
    WORKS(cuda.cuDevicePrimaryCtxRelease_v2(0));
    WORKS(cuda.cuDevicePrimaryCtxRetain(&context, 0)); /* a new context works again */
    WORKS(cuda.cuDevicePrimaryCtxRelease_v2(0));
}

TEST(a_fault_is_permanent)
{
    child(fault, "SIM_FAULT_AT=2", NULL);
    ends(0, "");
}

static CUresult try_launch_bad(CUfunction function, unsigned blocks, unsigned threads,
                               void **parameters)
{
    const CUlaunchConfig config = {blocks, 1, 1, threads, 1, 1, 0, stream, NULL, 0};
    return cuda.cuLaunchKernelEx(&config, function, parameters, NULL);
}

static void refuse(void)
{
    CUfunction function;
    CUdevice device;
    CUevent early, late;
    float milliseconds = 0;
    int most = 0;
    struct planted_args args = {0};
    void *parameters[] = {&args};
    begin();
    HOLDS(cuda.cuDeviceGet(&device, 2) == CUDA_ERROR_INVALID_DEVICE);
    HOLDS(cuda.cuModuleGetFunction(&function, module, "spec_kernel_no_such") ==
          CUDA_ERROR_NOT_FOUND);
    WORKS(cuda.cuModuleGetFunction(&function, module, "spec_kernel_planted_copy"));
    WORKS(cuda.cuFuncGetAttribute(&most, 0, function));
    HOLDS(most == 256);
    HOLDS(try_launch_bad(function, 1, 257, parameters) == CUDA_ERROR_INVALID_VALUE);
    HOLDS(try_launch_bad(function, 0, 256, parameters) == CUDA_ERROR_INVALID_VALUE);
    HOLDS(try_launch_bad(NULL, 1, 256, parameters) == CUDA_ERROR_INVALID_HANDLE);
    WORKS(cuda.cuEventCreate(&early, 0));
    WORKS(cuda.cuEventCreate(&late, 0));
    WORKS(cuda.cuEventRecord(early, stream));
    HOLDS(cuda.cuEventElapsedTime(&milliseconds, early, late) == CUDA_ERROR_INVALID_HANDLE);
    launch(stream, "planted_copy", y, x);
    WORKS(cuda.cuEventRecord(late, stream));
    HOLDS(cuda.cuEventElapsedTime(&milliseconds, early, late) == 600);
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(cuda.cuEventElapsedTime(&milliseconds, early, late));
    HOLDS(milliseconds > 0.0009f && milliseconds < 0.1f);
    WORKS(cuda.cuEventDestroy_v2(early));
    WORKS(cuda.cuEventDestroy_v2(late));
    WORKS(cuda.cuCtxSetCurrent(NULL));
    HOLDS(cuda.cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_CONTEXT);
    WORKS(cuda.cuCtxSetCurrent(context));
    end();
}

TEST(refusals_are_those_of_a_driver)
{
    child(refuse, "SIM_CARDS=2", NULL);
    ends(0, "");
}

static void no_card(void)
{
    int count = 5;
    HOLDS(cuda.cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
    HOLDS(cuda.cuInit(0) == CUDA_ERROR_NO_DEVICE);
    WORKS(cuda.cuDeviceGetCount(&count));
    HOLDS(count == 0);
}

static void other_card(void)
{
    int count, major, minor, version;
    WORKS(cuda.cuInit(0));
    WORKS(cuda.cuDeviceGetCount(&count));
    WORKS(cuda.cuDriverGetVersion(&version));
    WORKS(cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 2));
    WORKS(cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 2));
    HOLDS(count == 3 && version == 11040 && major == 8 && minor == 6);
}

static void missing_function(void)
{
    HOLDS(cuda.cuGraphInstantiateWithFlags == NULL && cuda.cuGraphLaunch != NULL);
}

static void failing_function(void)
{
    begin();
    WORKS(cuda.cuStreamSynchronize(stream));
    HOLDS(cuda.cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
    HOLDS(cuda.cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
    end();
}

TEST(settings_change_the_simulated_gpu)
{
    child(no_card, "SIM_CARDS=0", NULL);
    ends(0, "");
    in_child(other_card, "libplanted.so", "SIM_CARDS=3", "SIM_VERSION=11040", "SIM_CAPABILITY=8.6");
    ends(0, "");
    child(missing_function, "SIM_MISSING=1", NULL);
    ends(0, "");
    child(failing_function, "SIM_FAIL=cuStreamSynchronize:719:2", NULL);
    ends(0, "");
}

static void all_there(void)
{
#define IS_THERE(name, parameters) HOLDS(cuda.name != NULL);
    SPEC_DRIVER_FUNCTIONS(IS_THERE)
}

TEST(each_function_is_there)
{
    static const char *const libraries[] = {"libcuda.so", "libplanted.so", "libplanted_watched.so"};
    for (int i = 0; i < 3; i++) {
        in_child(all_there, libraries[i], NULL, NULL, NULL);
        ends(0, "");
    }
}

SUITE(DRIVER);
