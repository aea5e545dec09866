/* SPDX-License-Identifier: GPL-3.0-or-later */
/* launch_profile: with SIM_PROFILE=1, prints a table of kernels when the process ends.
 * On standard error: launches, blocks, bytes loaded and stored by quads and pairs, and the
 * simulator's processor time. */
#ifndef SPECLAB_LAUNCH_PROFILE_H
#define SPECLAB_LAUNCH_PROFILE_H

#include "tests/simulator/kernel_table.h"

#include <stdint.h>

typedef struct {
    uint64_t moved;
    double seconds;
} launch_mark;

launch_mark launch_profile_begin(void);
void launch_profile_end(launch_mark began, const simulated_kernel *kernel, int64_t blocks);

#endif
