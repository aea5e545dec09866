/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/card.h"

#include "base/bytes.h"
#include "models/gpu/card_parts.h"
#include "models/gpu/images.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* The percentage of a multiprocessor's combined L1 cache and shared memory that is used as shared
 * memory. On compute capability 9.0 and 10.0 that is 196 of 228 KB: four blocks of 48 KB fit, and
 * 60 KB remain for the cache. On 8.x and 12.0 it is all of 164 and 100 KB. All kernels use the same
 * number, because a multiprocessor must finish its blocks before it can change. */
enum { SHARED_PERCENT = 85 };

/* Launches begin early if kernels were compiled for 9.0 or later, whose code can wait for the
 * previous launch, and if the driver can record that. */
enum { OLDEST_CAPABILITY = 80, EARLY_CAPABILITY = 90, EARLY_DRIVER = 12030 };

/* X(theme, name, threads) */
#define THEME(theme, name, threads) SPEC_KERNEL_THEME_##theme,
#define NAME(theme, name, threads) "spec_kernel_" #name,
#define THREADS(theme, name, threads) (threads),
static const spec_kernel_theme theme_of[SPEC_KERNELS_COUNT + 1] = {SPEC_KERNELS(THEME) 0};
static const char *const name_of[SPEC_KERNELS_COUNT + 1] = {SPEC_KERNELS(NAME) NULL};
const int spec_card_threads[SPEC_KERNELS_COUNT + 1] = {SPEC_KERNELS(THREADS) 0};

/* -- failures -- */

bool spec_card_good(spec_card *card, CUresult result)
{
    int none = CUDA_SUCCESS;
    if (result == CUDA_SUCCESS) return true;
    atomic_compare_exchange_strong(&card->failure, &none, result);
    return false;
}

bool spec_card_enter(spec_card *card)
{
    return atomic_load(&card->failure) == CUDA_SUCCESS &&
           spec_card_good(card, card->driver->cuCtxSetCurrent(card->context));
}

int spec_card_status(spec_card *card, spec_error *error)
{
    char text[200];
    const CUresult failure = atomic_load(&card->failure);
    if (failure == CUDA_SUCCESS) return GSL_SUCCESS;
    spec_driver_describe(text, sizeof text, card->driver, failure);
    return spec_fail(error, GSL_EFAILED,
                     "GPU %d failed in a pass: %s; its later results are lost; start speclab again",
                     card->ordinal, text);
}

static int call_failed(const spec_card *card, CUresult result, const char *what, spec_error *error)
{
    char text[200];
    spec_driver_describe(text, sizeof text, card->driver, result);
    return spec_fail(error, GSL_EFAILED, "GPU %d (%s): %s: %s", card->ordinal, card->name, what,
                     text);
}

#define TRY_CALL(call, what)                                                                       \
    do {                                                                                           \
        const CUresult result_ = (call);                                                           \
        if (result_ != CUDA_SUCCESS) SPEC_TRY(call_failed(card, result_, (what), error));          \
    } while (0)

/* -- GPUs -- */

int spec_cards_init(spec_cards **ret_cards, const spec_gpu_settings *settings, spec_error *error)
{
    spec_cards *cards = calloc(1, sizeof *cards);
    *ret_cards = cards;
    if (cards == NULL) return spec_no_memory(error);
    cards->settings = settings;
    pthread_mutex_init(&cards->lock, NULL);
    return GSL_SUCCESS;
}

void spec_cards_free(spec_cards *cards)
{
    if (cards == NULL) return;
    pthread_mutex_destroy(&cards->lock);
    free(cards);
}

/* Requires the lock. */
static int count_cards(spec_cards *cards, spec_error *error)
{
    spec_driver *const driver = &cards->driver;
    int count = 0;
    if (driver->version == 0 && spec_driver_load(driver, cards->settings, error) != GSL_SUCCESS)
        return 0;
    if (driver->cuDeviceGetCount(&count) != CUDA_SUCCESS) count = 0;
    if (count <= 0) spec_fail(error, GSL_EFAILED, "this machine has no NVIDIA GPU");
    return count > 0 ? count : 0;
}

int spec_card_count(spec_cards *cards, spec_error *error)
{
    pthread_mutex_lock(&cards->lock);
    const int count = count_cards(cards, error);
    pthread_mutex_unlock(&cards->lock);
    return count;
}

/* Reports why a GPU accepts none of the kernels. */
static int refuse_image(const spec_card *card, CUresult result, spec_error *error)
{
    const int version = spec_images_version(), speaks = card->driver->version;
    if (!spec_images_are_there())
        return spec_fail(
            error, GSL_EFAILED,
            "this speclab was built without nvcc, so it has no kernels for a GPU: install the CUDA "
            "toolkit and build it again");
    if (speaks < version && result != CUDA_ERROR_OUT_OF_MEMORY)
        return spec_fail(
            error, GSL_EFAILED,
            "the NVIDIA driver is too old for the kernels: it supports CUDA %d.%d, and nvcc %d.%d "
            "compiled them; install a newer driver, or build speclab with an older nvcc",
            speaks / 1000, speaks % 1000 / 10, version / 1000, version % 1000 / 10);
    return call_failed(card, result, "the kernels cannot be loaded", error);
}

static int load_kernels(spec_card *card, spec_error *error)
{
    const spec_driver *driver = card->driver;
    int status = GSL_SUCCESS;
    card->early = driver->version >= EARLY_DRIVER && !card->cards->settings->in_order;
    for (int theme = 0; theme < SPEC_KERNEL_THEMES_COUNT; theme++) {
        const CUresult result =
            driver->cuModuleLoadData(&card->module[theme], spec_image((spec_kernel_theme)theme));
        if (result != CUDA_SUCCESS) SPEC_TRY(refuse_image(card, result, error));
    }
    for (int i = 0; i < (int)SPEC_KERNELS_COUNT; i++) {
        int most = 0, compiled_for = 0;
        TRY_CALL(
            driver->cuModuleGetFunction(&card->function[i], card->module[theme_of[i]], name_of[i]),
            name_of[i]);
        /* The query also loads the kernel, which is impossible while a pass is recorded. */
        TRY_CALL(driver->cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                            card->function[i]),
                 name_of[i]);
        TRY_CALL(driver->cuFuncGetAttribute(&compiled_for, CU_FUNC_ATTRIBUTE_PTX_VERSION,
                                            card->function[i]),
                 name_of[i]);
        card->early = card->early && compiled_for >= EARLY_CAPABILITY;
        if (most < spec_card_threads[i])
            SPEC_TRY(spec_fail(error, GSL_EFAILED,
                               "GPU %d (%s): %s runs at most %d threads per block, and needs %d",
                               card->ordinal, card->name, name_of[i], most, spec_card_threads[i]));
        /* Only a hint: without it kernels still run, with fewer blocks at a time. */
        (void)driver->cuFuncSetAttribute(
            card->function[i], CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, SHARED_PERCENT);
    }
done:
    return status;
}

static void dismantle(spec_card *card)
{
    const spec_driver *driver = card->driver;
    if (card->context != NULL) {
        driver->cuCtxSetCurrent(card->context);
        for (int theme = 0; theme < SPEC_KERNEL_THEMES_COUNT; theme++)
            if (card->module[theme] != NULL) driver->cuModuleUnload(card->module[theme]);
        driver->cuCtxSetCurrent(NULL);
        driver->cuDevicePrimaryCtxRelease_v2(card->device);
    }
    pthread_mutex_destroy(&card->lock);
    free(card);
}

static int open_card(spec_card **ret_card, spec_cards *cards, int ordinal, spec_error *error)
{
    const spec_driver *const driver = &cards->driver;
    int status = GSL_SUCCESS, major = 0, minor = 0;
    spec_card *card = calloc(1, sizeof *card);
    if (card == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    card->cards = cards;
    card->driver = driver;
    card->ordinal = ordinal;
    card->users = 1;
    snprintf(card->name, sizeof card->name, "a card");
    pthread_mutex_init(&card->lock, NULL);
    TRY_CALL(driver->cuDeviceGet(&card->device, ordinal), "the GPU is not available");
    TRY_CALL(driver->cuDeviceGetName(card->name, sizeof card->name - 1, card->device), "its name");
    TRY_CALL(driver->cuDeviceTotalMem_v2(&card->memory, card->device), "its memory");
    TRY_CALL(driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                          card->device),
             "its kind");
    TRY_CALL(driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                          card->device),
             "its kind");
    TRY_CALL(driver->cuDeviceGetAttribute(&card->multiprocessors,
                                          CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, card->device),
             "its multiprocessors");
    TRY_CALL(
        driver->cuDeviceGetAttribute(&card->cache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, card->device),
        "its cache");
    if (10 * major + minor < OLDEST_CAPABILITY)
        SPEC_TRY(spec_fail(error, GSL_EFAILED,
                           "GPU %d (%s) has compute capability %d.%d, and the kernels need %d.%d "
                           "or later (A100, RTX 30 and newer)",
                           ordinal, card->name, major, minor, OLDEST_CAPABILITY / 10,
                           OLDEST_CAPABILITY % 10));
    TRY_CALL(driver->cuDevicePrimaryCtxRetain(&card->context, card->device),
             "its context cannot be created");
    TRY_CALL(driver->cuCtxSetCurrent(card->context), "its context cannot be created");
    SPEC_TRY(load_kernels(card, error));
    *ret_card = card;
    card = NULL;
done:
    if (card != NULL) dismantle(card);
    return status;
}

/* Reports a GPU that does not exist. */
static int no_such_card(int ordinal, int count, spec_error *error)
{
    if (count == 1)
        return spec_fail(error, GSL_EINVAL,
                         "there is no GPU %d: this machine has one NVIDIA GPU, gpu:0", ordinal);
    return spec_fail(error, GSL_EINVAL,
                     "there is no GPU %d: this machine has %d NVIDIA GPUs, gpu:0 to gpu:%d",
                     ordinal, count, count - 1);
}

int spec_card_open(spec_card **ret_card, spec_cards *cards, int ordinal, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_card = NULL;
    pthread_mutex_lock(&cards->lock);
    const int count = count_cards(cards, error);
    if (count == 0) SPEC_TRY(GSL_EFAILED);
    if (ordinal < 0 || ordinal >= count) SPEC_TRY(no_such_card(ordinal, count, error));
    spec_card *card = cards->open;
    while (card != NULL && card->ordinal != ordinal) card = card->next;
    if (card != NULL) {
        card->users++;
    } else {
        SPEC_TRY(open_card(&card, cards, ordinal, error));
        card->next = cards->open;
        cards->open = card;
    }
    *ret_card = card;
done:
    pthread_mutex_unlock(&cards->lock);
    return status;
}

void spec_card_close(spec_card *card)
{
    if (card == NULL) return;
    spec_cards *const cards = card->cards;
    pthread_mutex_lock(&cards->lock);
    if (--card->users == 0) {
        spec_card **at = &cards->open;
        while (*at != card) at = &(*at)->next;
        *at = card->next;
        dismantle(card);
    }
    pthread_mutex_unlock(&cards->lock);
}

const char *spec_card_name(const spec_card *card) { return card->name; }
size_t spec_card_memory(const spec_card *card) { return card->memory; }
int spec_card_multiprocessors(const spec_card *card) { return card->multiprocessors; }
size_t spec_card_cache(const spec_card *card) { return (size_t)card->cache; }

/* ---- memory ---------------------------------------------------------------------------------- */

static int too_little(spec_card *card, size_t bytes, const char *more, spec_error *error)
{
    char a[SPEC_BYTES_SIZE], b[SPEC_BYTES_SIZE], c[SPEC_BYTES_SIZE];
    size_t left = 0, all = card->memory;
    card->driver->cuMemGetInfo_v2(&left, &all);
    return spec_fail(error, GSL_ENOMEM, "GPU %d (%s) has %s free of %s, and %s%s are needed",
                     card->ordinal, card->name, spec_bytes_text(a, left), spec_bytes_text(b, all),
                     spec_bytes_text(c, bytes), more);
}

size_t spec_card_piece(size_t bytes)
{
    const size_t piece = bytes < (size_t)1 << 20 ? 512 : (size_t)2 << 20;
    return (bytes + piece - 1) / piece * piece;
}

int spec_card_check(spec_card *card, size_t bytes, spec_error *error)
{
    size_t left = 0, all = 0;
    if (!spec_card_enter(card) || !spec_card_good(card, card->driver->cuMemGetInfo_v2(&left, &all)))
        return spec_card_status(card, error);
    return bytes <= left ? GSL_SUCCESS : too_little(card, bytes, "", error);
}

int spec_card_alloc(spec_card *card, void **ret_memory, size_t bytes, spec_error *error)
{
    const spec_driver *driver = card->driver;
    CUdeviceptr memory = 0;
    *ret_memory = NULL;
    if (bytes == 0) bytes = 1; /* the driver refuses a size of zero */
    if (!spec_card_enter(card)) return spec_card_status(card, error);
    const CUresult result = driver->cuMemAlloc_v2(&memory, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return too_little(card, bytes, " more", error);
    /* Streams do not wait for the default stream, in which memory is zeroed. */
    if (!spec_card_good(card, result) ||
        !spec_card_good(card, driver->cuMemsetD8Async(memory, 0, bytes, NULL)) ||
        !spec_card_good(card, driver->cuStreamSynchronize(NULL))) {
        if (result == CUDA_SUCCESS) driver->cuMemFree_v2(memory);
        return spec_card_status(card, error);
    }
    *ret_memory = (void *)(uintptr_t)memory;
    return GSL_SUCCESS;
}

void spec_card_free(spec_card *card, void *memory)
{
    if (memory == NULL) return;
    card->driver->cuCtxSetCurrent(card->context);
    card->driver->cuMemFree_v2(spec_card_address(memory));
}

int spec_card_pinned_alloc(spec_card *card, void **ret_memory, size_t bytes, spec_error *error)
{
    *ret_memory = NULL;
    if (!spec_card_enter(card)) return spec_card_status(card, error);
    const CUresult result = card->driver->cuMemAllocHost_v2(ret_memory, bytes > 0 ? bytes : 1);
    if (result == CUDA_SUCCESS) return GSL_SUCCESS;
    *ret_memory = NULL;
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return spec_fail(error, GSL_ENOMEM, "out of memory for %zu bytes that GPU %d can read",
                         bytes, card->ordinal);
    spec_card_good(card, result);
    return spec_card_status(card, error);
}

void spec_card_pinned_free(spec_card *card, void *memory)
{
    if (memory == NULL) return;
    card->driver->cuCtxSetCurrent(card->context);
    card->driver->cuMemFreeHost(memory);
}

/* Waits for all streams that are not recording. Requires the GPU's lock. */
static bool wait_for_all(spec_card *card)
{
    bool all = true;
    for (spec_stream *s = card->streams; s != NULL && all; s = s->next)
        all = s->recording || spec_card_good(card, card->driver->cuStreamSynchronize(s->stream));
    return all;
}

void spec_card_put(spec_card *card, void *to, const void *host, size_t bytes)
{
    if (bytes == 0 || !spec_card_enter(card)) return;
    pthread_mutex_lock(&card->lock);
    /* The call returns when the last piece has been read, not when it has arrived. */
    if (wait_for_all(card) &&
        spec_card_good(card, card->driver->cuMemcpyHtoD_v2(spec_card_address(to), host, bytes)))
        spec_card_good(card, card->driver->cuStreamSynchronize(NULL));
    pthread_mutex_unlock(&card->lock);
}

void spec_card_get(spec_card *card, void *host, const void *from, size_t bytes)
{
    if (bytes == 0 || !spec_card_enter(card)) return;
    pthread_mutex_lock(&card->lock);
    if (wait_for_all(card))
        spec_card_good(card, card->driver->cuMemcpyDtoH_v2(host, spec_card_address(from), bytes));
    pthread_mutex_unlock(&card->lock);
}
