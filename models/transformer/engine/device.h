/* SPDX-License-Identifier: GPL-3.0-or-later */
/* device: the processor that a model computes on: cpu, gpu, gpu:N, auto.
 * The caller opens a device by name and closes it; if a device is opened twice in a context, both
 * calls return the same backend. GPUs are searched for only on request, so that a machine without a
 * GPU loses no time. */
#ifndef SPECLAB_DEVICE_H
#define SPECLAB_DEVICE_H

#include "models/transformer/engine/backend.h"

/* The functions for this machine's GPUs, ordinals 0..count-1, so that the engine needs no GPU
 * code. */
typedef struct {
    /* Returns 0, with the reason, if there are none. */
    int (*count)(spec_context *context, spec_error *error);

    /* Opens a GPU, which the backend's own close closes. Returns GSL_EINVAL if it does not exist,
     * GSL_EFAILED if it cannot be used. */
    int (*open)(const spec_backend **ret_backend, spec_context *context, int ordinal,
                spec_error *error);

    /* Writes the name and memory of a GPU, "NVIDIA H200, 139 GiB", or why it cannot be used. */
    void (*describe)(char *line, size_t size, spec_context *context, int ordinal);
} spec_device_gpus;

extern const spec_device_gpus spec_device_nvidia; /* models/gpu/device_nvidia.c */

#define SPEC_DEVICE_USAGE "cpu, gpu, gpu:N, auto"

bool spec_device_is_name(const char *name);

/* cpu   the CPU
 * gpu   the first NVIDIA GPU; gpu:N is GPU N
 * auto  the first usable GPU, else the CPU
 * Returns GSL_EINVAL for another name or a missing GPU. The line says which, and why: no driver, an
 * old driver, no GPU, an unsupported GPU, built without nvcc. */
int spec_device_open(const spec_backend **ret_backend, spec_context *opt_context, const char *name,
                     spec_error *error);
void spec_device_close(const spec_backend *backend); /* accepts NULL */

/* Opens the device that the key `device` of a model's spec names; the CPU if there is no key. */
int spec_device_read(const spec_backend **ret_backend, spec_context *opt_context,
                     const spec_settings *settings, spec_error *error);

bool spec_device_is_cpu(const spec_backend *backend);

/* Describes device `index` of this machine, where the CPU is 0: "gpu:0  NVIDIA H200, 139 GiB".
 * Returns false past the last device; the line then says why there is no GPU, or is empty if there
 * are GPUs. */
bool spec_device_describe(char *line, size_t size, spec_context *opt_context, int index);

#endif
