/* ptx_run: a launch by its PTX, in place of the function that gcc compiled. block_run gives the blocks one by one.
 * In order, the lanes of a warp that are at one instruction go on together, those that are farthest behind first; in
 * the other orders each goes on alone until it waits, which shows what was forgotten between lanes. */
#ifndef SPECLAB_PTX_RUN_H
#define SPECLAB_PTX_RUN_H

#include "tests/simulator/block_run.h"

#include <stdint.h>

/* Runs the block that simt names, `first` of a launch or not; *chance is for ORDER_SHUFFLED. Weak: NULL in the
 * libraries that run what gcc compiled. */
void ptx_run_block(const simulated_kernel *kernel, const void *args, int threads, simulated_order order,
                   uint64_t *chance, bool first) __attribute__((weak));

#endif
