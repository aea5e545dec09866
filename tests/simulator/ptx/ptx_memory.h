/* ptx_memory: loads, stores, additions in memory and copies of the lanes of a warp. Each address is held against what
 * there is: shared memory of the block, allocations of the card, the arguments, the thread's own. */
#ifndef SPECLAB_PTX_MEMORY_H
#define SPECLAB_PTX_MEMORY_H

#include "tests/simulator/ptx/ptx_code.h"

/* What threads of a launch may touch besides the card's memory. */
typedef struct {
    const ptx_kernel *kernel;
    const char *args;
    char *local; /* (threads, kernel->local) */
    int threads;
    bool early; /* it may begin before the launch before it has ended */
} ptx_reach;
extern ptx_reach ptx_reached;

/* load, store, atom_add, atom_max, copy_async, copy_commit, copy_wait by the lanes of `mask` of a warp. */
void ptx_memory(ptx_instruction *i, uint32_t mask, char *const base[2], int warp);

#endif
