/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices and contexts of the simulated driver. */
#include "tests/simulator/block_run.h"
#include "tests/simulator/simulated_driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static simulated_card cards[MOST_CARDS];
static int n_cards = -1; /* -1: before cuInit */
static _Thread_local simulated_card *current;

void simulated_lock(void) { pthread_mutex_lock(&mutex); }

CUresult simulated_leave(CUresult result)
{
    pthread_mutex_unlock(&mutex);
    return result;
}

long simulated_setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtol(text, NULL, 0) : otherwise;
}

/* SIM_FAIL=function:result:call. */
static CUresult planned_failure(const char *function)
{
    static long calls;
    const char *text = getenv("SIM_FAIL");
    const size_t n = strlen(function);
    if (text == NULL || strncmp(text, function, n) != 0 || text[n] != ':') return CUDA_SUCCESS;
    const char *call = strchr(text + n + 1, ':');
    return ++calls >= (call != NULL ? atol(call + 1) : 1) ? atoi(text + n + 1) : CUDA_SUCCESS;
}

CUresult simulated_current(simulated_card **ret_card, const char *function)
{
    *ret_card = current;
    const CUresult planned = planned_failure(function);
    if (planned != CUDA_SUCCESS) return planned;
    if (n_cards < 0) return CUDA_ERROR_NOT_INITIALIZED;
    if (current == NULL || current->uses == 0) return CUDA_ERROR_INVALID_CONTEXT;
    return current->failed;
}

CUresult cuInit(unsigned flags)
{
    simulated_lock();
    if (flags != 0) return simulated_leave(CUDA_ERROR_INVALID_VALUE);
    n_cards = (int)simulated_setting("SIM_CARDS", 1);
    if (n_cards > MOST_CARDS) n_cards = MOST_CARDS;
    return simulated_leave(n_cards == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version)
{
    *version = (int)simulated_setting("SIM_VERSION", 13000);
    return CUDA_SUCCESS;
}

static const struct {
    CUresult result;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY_, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED_, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED_, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT_, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD_, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
};

static CUresult describe(CUresult result, const char **ret_text, bool name)
{
    *ret_text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].result == result) *ret_text = name ? errors[i].name : errors[i].text;
    return *ret_text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult result, const char **name) { return describe(result, name, true); }
CUresult cuGetErrorString(CUresult result, const char **text)
{
    return describe(result, text, false);
}

/* ---- devices --------------------------------------------------------------------------------- */

CUresult cuDeviceGetCount(int *count)
{
    if (n_cards < 0) return CUDA_ERROR_NOT_INITIALIZED;
    *count = n_cards;
    return CUDA_SUCCESS;
}

static CUresult known(CUdevice device)
{
    if (n_cards < 0) return CUDA_ERROR_NOT_INITIALIZED;
    return device < 0 || device >= n_cards ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return known(ordinal);
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    if (known(device) != CUDA_SUCCESS) return known(device);
    snprintf(name, (size_t)size, "simulated card");
    return CUDA_SUCCESS;
}

int simulated_capability(void)
{
    const char *text = getenv("SIM_CAPABILITY"), *dot = text != NULL ? strchr(text, '.') : NULL;
    return text == NULL ? 90 : 10 * atoi(text) + (dot != NULL ? atoi(dot + 1) : 0);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    if (known(device) != CUDA_SUCCESS) return known(device);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 4; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 1 << 19; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = simulated_capability() / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = simulated_capability() % 10; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static size_t memory_of_a_card(void) { return (size_t)simulated_setting("SIM_MEMORY", 8L << 30); }

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    *bytes = memory_of_a_card();
    return known(device);
}

/* ---- contexts -------------------------------------------------------------------------------- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    simulated_lock();
    const CUresult planned = planned_failure(__func__),
                   result = planned != CUDA_SUCCESS ? planned : known(device);
    if (result != CUDA_SUCCESS) return simulated_leave(result);
    simulated_card *card = &cards[device];
    if (card->uses++ == 0)
        *card = (simulated_card){.device = device,
                                 .uses = 1,
                                 .memory = memory_of_a_card(),
                                 .fault_at = simulated_setting("SIM_FAULT_AT", 0)};
    *context = card;
    return simulated_leave(CUDA_SUCCESS);
}

/* Everything that was allocated in the context must have been freed, although a real GPU would free
 * it. */
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    simulated_lock();
    const CUresult result = known(device);
    if (result != CUDA_SUCCESS) return simulated_leave(result);
    simulated_card *card = &cards[device];
    if (card->uses == 0) return simulated_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (--card->uses > 0) return simulated_leave(CUDA_SUCCESS);
    simulated_streams_drain(card);
    if (card->allocations + card->pinned + card->streams + card->events + card->graphs +
            card->modules !=
        0)
        block_run_fail("the context is released while there still are %d allocations, %d of pinned "
                       "memory, %d streams, %d "
                       "events, %d graphs, %d modules",
                       card->allocations, card->pinned, card->streams, card->events, card->graphs,
                       card->modules);
    return simulated_leave(CUDA_SUCCESS);
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    simulated_lock();
    if (context != NULL && context->uses == 0) return simulated_leave(CUDA_ERROR_INVALID_CONTEXT);
    current = context;
    return simulated_leave(CUDA_SUCCESS);
}

/* ---- modules: any image contains the kernels of this library --------------------------------- */

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    SIMULATED_ENTER(card);
    if (image == NULL) return simulated_leave(CUDA_ERROR_INVALID_VALUE);
    if (simulated_setting("SIM_IMAGES", 1) == 0) return simulated_leave(CUDA_ERROR_INVALID_IMAGE);
    card->modules++;
    *module = (CUmodule)card;
    return simulated_leave(CUDA_SUCCESS);
}

CUresult cuModuleUnload(CUmodule module)
{
    simulated_lock();
    simulated_card *card = (simulated_card *)module;
    if (card == NULL || card->modules == 0) return simulated_leave(CUDA_ERROR_INVALID_HANDLE);
    card->modules--;
    return simulated_leave(CUDA_SUCCESS);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    SIMULATED_ENTER(card);
    (void)card;
    if (module == NULL) return simulated_leave(CUDA_ERROR_INVALID_HANDLE);
    for (const simulated_kernel *kernel = simulated_kernels; kernel->name != NULL; kernel++) {
        if (strcmp(kernel->name, name) != 0) continue;
        *function = (CUfunction)kernel;
        return simulated_leave(CUDA_SUCCESS);
    }
    return simulated_leave(CUDA_ERROR_NOT_FOUND);
}

/* Maximum threads per block, and the capability for which the code was compiled: 8.0, and 9.0 for
 * later GPUs. No other attribute is supported. */
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    SIMULATED_ENTER(card);
    (void)card;
    *value = 0;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) *value = function->threads;
    if (attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION) *value = simulated_capability() < 90 ? 80 : 90;
    return simulated_leave(attribute >= 0 && attribute <= 15 ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE);
}

long simulated_shared_wishes; /* requests for a share of shared memory; tests read it */

/* Dynamic shared memory, and the preferred percentage of shared memory. */
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    SIMULATED_ENTER(card);
    (void)card;
    if (function == NULL) return simulated_leave(CUDA_ERROR_INVALID_HANDLE);
    const bool size = attribute == 8 && value >= 0;
    const bool wish = attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT &&
                      value >= -1 && value <= 100;
    simulated_shared_wishes += wish;
    return simulated_leave(size || wish ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
