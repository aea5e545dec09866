/* kernels_roofline: what a card can do at best: read its memory, multiply in its matrix units, begin the next kernel.
 * They compute nothing that anybody wants; what they read and multiply is summed and written, so that no compiler can
 * leave it out. docs/gpu.md#roofline. */
#ifndef SPECLAB_KERNELS_ROOFLINE_H
#define SPECLAB_KERNELS_ROOFLINE_H

#include <stdint.h>

enum {
    ROOFLINE_THREADS = 256,
    ROOFLINE_LOADS = 4, /* of 16 bytes, that a thread has under way */
    ROOFLINE_PIECE = ROOFLINE_THREADS * ROOFLINE_LOADS * 16, /* bytes that a block reads at a time */
    ROOFLINE_SUMS = 8   /* products of a warp that do not wait for one another */
};

/* sum (blocks, warps of a block): of all words of 4 bytes that the warp has read, modulo 2^32. */
struct roofline_read_args {
    const void *memory; /* (pieces, ROOFLINE_PIECE) */
    uint64_t pieces;
    uint32_t *sum;
};

/* ROOFLINE_SUMS times D += A B in each of `rounds`, by each warp; sum (blocks, threads): what a thread then has of the
 * D, all together. operand (6, 32): of each lane the four words of A, then the two of B, in the fragments of simt.h. */
struct roofline_bf16_args {
    const uint32_t *operand;
    int rounds;
    float *sum;
};
struct roofline_int8_args {
    const uint32_t *operand;
    int rounds;
    int32_t *sum;
};

/* Nothing; with `opt_seen` (blocks) the first thread of a block says that it was there. */
struct roofline_nothing_args {
    uint32_t *opt_seen;
};

#define SPEC_KERNELS_ROOFLINE(X)                                                                                       \
    X(roofline, roofline_read, ROOFLINE_THREADS)                                                                       \
    X(roofline, roofline_bf16, ROOFLINE_THREADS)                                                                       \
    X(roofline, roofline_int8, ROOFLINE_THREADS)                                                                       \
    X(roofline, roofline_nothing, ROOFLINE_THREADS)

#endif
