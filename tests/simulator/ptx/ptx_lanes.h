/* ptx_lanes: instructions that each lane of a warp does by itself, for all lanes at a time. */
#ifndef SPECLAB_PTX_LANES_H
#define SPECLAB_PTX_LANES_H

#include "tests/simulator/ptx/ptx_code.h"

/* That a kernel may declare, and room between variables, which nobody may touch. */
enum { PTX_SHARED_GAP = 64, PTX_SHARED_BYTES = (48 << 10) + 64 * PTX_SHARED_GAP };

extern char ptx_shared[PTX_SHARED_BYTES]; /* of the block that runs */

/* Goes on from code[at] with the lanes of `mask` to the first instruction that is not known here, or from which not all
 * of them go on, or that is `stop`; returns where that is. base: the warp's registers and the constants. */
int ptx_lanes_run(const ptx_instruction *code, int at, int stop, uint32_t mask, char *const base[2]);

/* The 32 values of an operand. */
static inline void *ptx_values(char *const base[2], ptx_place place)
{
    return base[place & PTX_CONSTANT] + (place & ~PTX_CONSTANT);
}

/* Those of `mask` for which the instruction's predicate holds. */
static inline uint32_t ptx_guard(const ptx_instruction *i, uint32_t mask, char *const base[2])
{
    uint32_t holds;
    if (!i->guarded) return mask;
    __builtin_memcpy(&holds, ptx_values(base, i->guard), sizeof holds);
    return i->unless ? mask & ~holds : mask & holds;
}

#endif
