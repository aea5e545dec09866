/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_memory: loads, stores, atomics and copies of a warp's lanes, with bounds checks.
 * Each address must be in the block's shared memory, a GPU allocation, the arguments, or the
 * thread's local memory. */
#ifndef SPECLAB_PTX_MEMORY_H
#define SPECLAB_PTX_MEMORY_H

#include "tests/simulator/ptx/ptx_code.h"

/* Memory of a launch besides GPU memory. */
typedef struct {
    const ptx_kernel *kernel;
    const char *args;
    char *local; /* (threads, kernel->local) */
    int threads;
    bool early; /* the launch may begin before the previous one has ended */
} ptx_reach;
extern ptx_reach ptx_reached;

/* Executes load, store, atom_add, atom_max, copy_async, copy_commit or copy_wait for the lanes of
 * `mask` of a warp. */
void ptx_memory(ptx_instruction *i, uint32_t mask, char *const base[2], int warp);

#endif
