/* SPDX-License-Identifier: GPL-3.0-or-later */
/* backend_gpu_group: the backend of a GPU, real or simulated, for a group of tests.
 * Include it in one file of a program; main calls spec_simulated_card first. */
#ifndef SPECLAB_TESTS_BACKEND_GPU_GROUP_H
#define SPECLAB_TESTS_BACKEND_GPU_GROUP_H

#include "models/gpu/backend_gpu.h"
#include "tests/support/contexts.h"
#include "tests/support/simulated_card.h"

static const spec_backend *gpu;

/* Set-up of the group. */
static inline int open_gpu(void **state)
{
    (void)state;
    spec_error error = {""};
    if (spec_backend_gpu_open(&gpu, spec_test_context(0), 0, &error) == GSL_SUCCESS) return 0;
    printf("%s\n", error.text);
    return -1;
}

/* Tear-down of the group. */
static inline int close_gpu(void **state)
{
    (void)state;
    gpu->close(gpu);
    return 0;
}

#endif
