/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_run: an interpreter of PTX, in place of the function that gcc compiled.
 * block_run passes it the blocks one by one. In the forward order, lanes of a warp at the same
 * instruction run together, those farthest behind first. In the other orders each lane runs alone
 * until it waits, which exposes missing synchronisation between lanes. */
#ifndef SPECLAB_PTX_RUN_H
#define SPECLAB_PTX_RUN_H

#include "tests/simulator/block_run.h"

#include <stdint.h>

/* Runs the block that simt describes; `first`: it is the first of a launch; *chance is for
 * ORDER_SHUFFLED. Weak: NULL in libraries that run what gcc compiled. */
void ptx_run_block(const simulated_kernel *kernel, const void *args, int threads,
                   simulated_order order, uint64_t *chance, bool first) __attribute__((weak));

#endif
