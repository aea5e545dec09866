/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_lanes: executes the instructions of single lanes, for all lanes of a warp at once. */
#ifndef SPECLAB_PTX_LANES_H
#define SPECLAB_PTX_LANES_H

#include "tests/simulator/ptx/ptx_code.h"

/* Shared memory that a kernel may declare, with guard bytes between variables. */
enum { PTX_SHARED_GAP = 64, PTX_SHARED_BYTES = (48 << 10) + 64 * PTX_SHARED_GAP };

extern char ptx_shared[PTX_SHARED_BYTES]; /* shared memory of the current block */

/* Executes from code[at] with the lanes of `mask` and returns the index at which it stops: `stop`,
 * an instruction of another module, or one from which not all lanes continue. base: the warp's
 * registers and the constants. */
int ptx_lanes_run(const ptx_instruction *code, int at, int stop, uint32_t mask,
                  char *const base[2]);

/* Returns the 32 values of an operand. */
static inline void *ptx_values(char *const base[2], ptx_place place)
{
    return base[place & PTX_CONSTANT] + (place & ~PTX_CONSTANT);
}

/* Returns the lanes of `mask` for which the instruction's predicate holds. */
static inline uint32_t ptx_guard(const ptx_instruction *i, uint32_t mask, char *const base[2])
{
    uint32_t holds;
    if (!i->guarded) return mask;
    __builtin_memcpy(&holds, ptx_values(base, i->guard), sizeof holds);
    return i->unless ? mask & ~holds : mask & holds;
}

#endif
