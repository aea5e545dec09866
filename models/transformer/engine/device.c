/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/device.h"

#include "base/settings.h"
#include "models/context.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

static const char needs_context[] = "a GPU needs a context";

/* The backend of a GPU, and its number of users. */
typedef struct spec_device_opened device;
struct spec_device_opened {
    device *next;
    int ordinal, users;
    const spec_backend *backend;
};

static int open_gpu(const spec_backend **ret_backend, spec_context *context, int ordinal,
                    spec_error *error)
{
    int status = GSL_SUCCESS;
    pthread_mutex_lock(&context->lock);
    device *fresh = NULL, *found = context->devices;
    while (found != NULL && found->ordinal != ordinal) found = found->next;
    if (found == NULL) {
        fresh = calloc(1, sizeof *fresh);
        if (fresh == NULL) SPEC_TRY(spec_no_memory(error));
        SPEC_TRY(spec_device_nvidia.open(&fresh->backend, context, ordinal, error));
        fresh->ordinal = ordinal;
        fresh->next = context->devices;
        context->devices = found = fresh;
        fresh = NULL;
    }
    found->users++;
    *ret_backend = found->backend;
done:
    free(fresh);
    pthread_mutex_unlock(&context->lock);
    return status;
}

static const spec_backend *cpu_of(const spec_context *opt_context)
{
    return opt_context != NULL ? opt_context->cpu : &spec_backend_cpu;
}

/* Opens the first usable GPU, else the CPU. */
static void open_auto(const spec_backend **ret_backend, spec_context *opt_context)
{
    const int count = opt_context != NULL ? spec_device_nvidia.count(opt_context, NULL) : 0;
    for (int ordinal = 0; ordinal < count; ordinal++)
        if (open_gpu(ret_backend, opt_context, ordinal, NULL) == GSL_SUCCESS) return;
    *ret_backend = cpu_of(opt_context);
}

/* Returns whether the name is "gpu" or "gpu:N". */
static bool is_gpu(int *ret_ordinal, const char *name)
{
    *ret_ordinal = 0;
    if (strncmp(name, "gpu", 3) != 0) return false;
    if (name[3] == '\0') return true;
    return name[3] == ':' && name[4] >= '0' && name[4] <= '9' &&
           spec_settings_parse_int(ret_ordinal, name + 4);
}

bool spec_device_is_name(const char *name)
{
    int ordinal;
    return strcmp(name, "cpu") == 0 || strcmp(name, "auto") == 0 || is_gpu(&ordinal, name);
}

int spec_device_open(const spec_backend **ret_backend, spec_context *opt_context, const char *name,
                     spec_error *error)
{
    int ordinal, status = GSL_SUCCESS;
    *ret_backend = NULL;
    if (strcmp(name, "cpu") == 0)
        *ret_backend = cpu_of(opt_context);
    else if (strcmp(name, "auto") == 0)
        open_auto(ret_backend, opt_context);
    else if (!is_gpu(&ordinal, name))
        status = spec_fail(error, GSL_EINVAL, "no such device; use one of %s", SPEC_DEVICE_USAGE);
    else if (opt_context == NULL)
        status = spec_fail(error, GSL_EINVAL, "%s", needs_context);
    else
        status = open_gpu(ret_backend, opt_context, ordinal, error);
    return status;
}

void spec_device_close(const spec_backend *backend)
{
    if (backend == NULL || backend->opt_context == NULL) return;
    spec_context *const context = backend->opt_context;
    pthread_mutex_lock(&context->lock);
    for (device **at = &context->devices; *at != NULL; at = &(*at)->next) {
        device *one = *at;
        if (one->backend != backend) continue;
        if (--one->users == 0) {
            *at = one->next;
            backend->close(backend);
            free(one);
        }
        break;
    }
    pthread_mutex_unlock(&context->lock);
}

bool spec_device_is_cpu(const spec_backend *backend)
{
    return backend == cpu_of(backend->opt_context);
}

int spec_device_read(const spec_backend **ret_backend, spec_context *opt_context,
                     const spec_settings *settings, spec_error *error)
{
    spec_error why = {{0}};
    const char *name = spec_settings_text(settings, "device");
    if (name == NULL) name = "cpu";
    const int status = spec_device_open(ret_backend, opt_context, name, &why);
    return status == GSL_SUCCESS ? status
                                 : spec_fail(error, status, "device=%.60s: %.430s", name, why.text);
}

bool spec_device_describe(char *line, size_t size, spec_context *opt_context, int index)
{
    spec_error error = {{0}};
    if (index == 0) {
        snprintf(line, size, "cpu  %s", spec_backend_cpu.device);
        return true;
    }
    const int count = opt_context != NULL
                          ? spec_device_nvidia.count(opt_context, &error)
                          : (spec_fail(&error, GSL_EINVAL, "%s", needs_context), 0);
    if (index > count) {
        snprintf(line, size, "%s", count == 0 ? error.text : "");
        return false;
    }
    const int used = snprintf(line, size, "gpu:%d  ", index - 1);
    if (used >= 0 && (size_t)used < size)
        spec_device_nvidia.describe(line + used, size - (size_t)used, opt_context,
                                    index - 1);
    return true;
}
