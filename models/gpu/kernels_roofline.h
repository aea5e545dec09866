/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernels_roofline: benchmark kernels for memory reads, matrix units and launch time.
 * They write the sum of all that they read or multiply, so that the compiler cannot remove the
 * work. docs/gpu.md#roofline. */
#ifndef SPECLAB_KERNELS_ROOFLINE_H
#define SPECLAB_KERNELS_ROOFLINE_H

#include <stdint.h>

enum {
    ROOFLINE_THREADS = 256,
    ROOFLINE_LOADS = 4, /* loads of 16 bytes that a thread has in flight */
    ROOFLINE_PIECE =
        ROOFLINE_THREADS * ROOFLINE_LOADS * 16, /* bytes that a block reads per step */
    ROOFLINE_SUMS = 8 /* independent products of a warp */
};

/* sum (blocks, warps of a block): the sum of all 4-byte words that the warp has read, modulo
 * 2^32 */
struct roofline_read_args {
    const void *memory; /* (pieces, ROOFLINE_PIECE) */
    uint64_t pieces;
    uint32_t *sum;
};

/* Each warp computes ROOFLINE_SUMS products D += A B in each of `rounds`; sum (blocks, threads): a
 * thread's total of all D. operand (6, 32): per lane four words of A, then two of B, in the
 * fragments of simt.h. */
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

/* Does nothing, except that with `opt_seen` (blocks) the first thread of each block marks that the
 * block has run. */
struct roofline_nothing_args {
    uint32_t *opt_seen;
};

#define SPEC_KERNELS_ROOFLINE(X)                                                                   \
    X(roofline, roofline_read, ROOFLINE_THREADS)                                                   \
    X(roofline, roofline_bf16, ROOFLINE_THREADS)                                                   \
    X(roofline, roofline_int8, ROOFLINE_THREADS)                                                   \
    X(roofline, roofline_nothing, ROOFLINE_THREADS)

#endif
