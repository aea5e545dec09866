/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/driver.h"

#include <dlfcn.h>
#include <string.h>

#define DEFAULT_LIBRARY "libcuda.so.1"

#define NAME(name, parameters) #name,
static const char *const names[] = {SPEC_DRIVER_FUNCTIONS(NAME) NULL};
#undef NAME

/* Returns dlopen's message without the library's name, because our message names it already. */
static const char *reason(const char *library)
{
    const char *text = dlerror();
    const size_t length = strlen(library);
    if (text == NULL) return "it cannot be loaded";
    if (strncmp(text, library, length) == 0 && text[length] == ':') text += length + 1;
    return text + strspn(text, " ");
}

/* Looks up all functions in the order of the list. */
static int find_functions(spec_driver *driver, void *library, const char *name, spec_error *error)
{
#define PLACE(function, parameters) (void **)(void *)&driver->function,
    void **const place[] = {SPEC_DRIVER_FUNCTIONS(PLACE)};
#undef PLACE
    for (int i = 0; names[i] != NULL; i++) {
        *place[i] = dlsym(library, names[i]);
        if (*place[i] != NULL) continue;
        if (dlsym(library, "cuInit") == NULL)
            return spec_fail(error, GSL_EFAILED,
                             "%.200s is not a CUDA driver: it has no function "
                             "%s",
                             name, names[i]);
        return spec_fail(error, GSL_EFAILED,
                         "the NVIDIA driver is too old: %.200s has no function %s; a driver for "
                         "CUDA %d.%d or later is needed",
                         name, names[i], SPEC_DRIVER_OLDEST / 1000, SPEC_DRIVER_OLDEST % 1000 / 10);
    }
    return GSL_SUCCESS;
}

/* Reports a driver that does not start. */
static int refuse(const spec_driver *driver, const spec_gpu_settings *settings, CUresult result,
                  spec_error *error)
{
    char text[200];
    spec_driver_describe(text, sizeof text, driver, result);
    if (result == CUDA_ERROR_NO_DEVICE && settings->opt_visible != NULL)
        return spec_fail(error, GSL_EFAILED,
                         "no NVIDIA GPU is visible: %s; CUDA_VISIBLE_DEVICES is '%.80s'", text,
                         settings->opt_visible);
    if (result == CUDA_ERROR_NO_DEVICE)
        return spec_fail(error, GSL_EFAILED, "there is no NVIDIA GPU: %s", text);
    if (result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
        return spec_fail(error, GSL_EFAILED,
                         "the NVIDIA driver and its library have different versions, as after an "
                         "update: %s; restart the machine",
                         text);
    if (result == CUDA_ERROR_STUB_LIBRARY)
        return spec_fail(error, GSL_EFAILED,
                         "the library that was found is the toolkit's stub, which is not a driver");
    return spec_fail(error, GSL_EFAILED,
                     "the NVIDIA driver does not start: %s; nvidia-smi may say more", text);
}

int spec_driver_load(spec_driver *driver, const spec_gpu_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS, version = 0;
    const char *given = settings->opt_library,
               *name = given != NULL && *given != '\0' ? given : DEFAULT_LIBRARY;
    *driver = (spec_driver){0};
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL && name == given)
        SPEC_TRY(spec_fail(error, GSL_EFAILED,
                           "the library in SPECLAB_LIBCUDA cannot be loaded: %.150s: %.150s", name,
                           reason(name)));
    if (library == NULL)
        SPEC_TRY(spec_fail(error, GSL_EFAILED,
                           "there is no NVIDIA driver on this machine: %s: %.150s; if it is "
                           "installed elsewhere, set SPECLAB_LIBCUDA to its path",
                           name, reason(name)));
    SPEC_TRY(find_functions(driver, library, name, error));
    library = NULL; /* a started driver is never unloaded */
    CUresult result = driver->cuInit(0);
    if (result == CUDA_SUCCESS) result = driver->cuDriverGetVersion(&version);
    if (result != CUDA_SUCCESS) SPEC_TRY(refuse(driver, settings, result, error));
    if (version < SPEC_DRIVER_OLDEST)
        SPEC_TRY(spec_fail(
            error, GSL_EFAILED,
            "the NVIDIA driver is too old: it supports CUDA %d.%d, and %d.%d or later is needed",
            version / 1000, version % 1000 / 10, SPEC_DRIVER_OLDEST / 1000,
            SPEC_DRIVER_OLDEST % 1000 / 10));
    driver->version = version;
done:
    if (library != NULL) dlclose(library);
    if (status != GSL_SUCCESS) *driver = (spec_driver){0};
    return status;
}

void spec_driver_describe(char *text, size_t size, const spec_driver *driver, CUresult result)
{
    const char *name = NULL, *words = NULL;
    if (driver->cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
        snprintf(text, size, "CUDA error %d", result);
    else if (driver->cuGetErrorString(result, &words) != CUDA_SUCCESS || words == NULL)
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, "%s (%s)", name, words);
}
