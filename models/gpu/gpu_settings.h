/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gpu_settings: a program's settings for NVIDIA GPUs; all zeros are the defaults.
 * The program fills this in from its environment (cli/main.c), in its context, before it opens a
 * GPU. It owns the strings. */
#ifndef SPECLAB_GPU_SETTINGS_H
#define SPECLAB_GPU_SETTINGS_H

#include <stdbool.h>

typedef struct {
    const char *opt_library; /* SPECLAB_LIBCUDA: the driver; NULL or "": libcuda.so.1 */
    const char *opt_visible; /* CUDA_VISIBLE_DEVICES, which the driver reads; for a message */
    bool in_order;           /* SPECLAB_GPU_EARLY=0: each launch waits for the previous one */
    bool unrecorded;         /* SPECLAB_GPU_RECORD=0: passes are not recorded as graphs */
} spec_gpu_settings;

#endif
