/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernels_planted: kernels with one planted mistake each, which the simulator must find.
 * With `wrong` = 1 they make the mistake. With 0 they are right: y[i] = x[i], or as documented
 * here. */
#ifndef SPECLAB_KERNELS_PLANTED_H
#define SPECLAB_KERNELS_PLANTED_H

#include <stdint.h>

struct planted_args {
    float *y;
    const float *x; /* some kernels store into it */
    int n, wrong;
};

#define planted_copy_args planted_args
#define planted_sum_args planted_args
#define planted_divergent_args planted_args
#define planted_early_args planted_args
#define planted_half_warp_args planted_args
#define planted_two_lines_args planted_args
#define planted_product_args planted_args
#define planted_past_end_args planted_args
#define planted_reads_past_args planted_args
#define planted_past_shared_args planted_args
#define planted_unwritten_args planted_args
#define planted_one_word_args planted_args
#define planted_lanes_args planted_args
#define planted_blocks_args planted_args
#define planted_count_args planted_args
#define planted_last_args planted_args
#define planted_endless_args planted_args
#define planted_unaligned_args planted_args
#define planted_nowhere_args planted_args
#define planted_deep_args planted_args
#define planted_ahead_args planted_args

/* Mistakes of planted_ahead, launched early. */
enum { AHEAD_NEVER_WAITS = 1, AHEAD_WAITS_TWICE, AHEAD_READS, AHEAD_WRITES };

/* Mistakes of planted_last. */
enum { LAST_WRITES_UNFENCED = 1, LAST_READS_UNFENCED, LAST_COUNTS_FIRST };

/* Computes D += A B in one warp; fragments (32 lanes, words) as laid out in memory. */
struct planted_mma_args {
    float *d;
    int32_t *e;
    const uint32_t *a, *b;
};

#define SPEC_KERNELS_PLANTED(X)                                                                    \
    X(planted, planted_copy, 256)                                                                  \
    X(planted, planted_sum, 256)                                                                   \
    X(planted, planted_divergent, 256)                                                             \
    X(planted, planted_early, 256)                                                                 \
    X(planted, planted_half_warp, 256)                                                             \
    X(planted, planted_two_lines, 256)                                                             \
    X(planted, planted_product, 256)                                                               \
    X(planted, planted_past_end, 256)                                                              \
    X(planted, planted_reads_past, 256)                                                            \
    X(planted, planted_past_shared, 256)                                                           \
    X(planted, planted_unwritten, 256)                                                             \
    X(planted, planted_one_word, 256)                                                              \
    X(planted, planted_lanes, 256)                                                                 \
    X(planted, planted_blocks, 256)                                                                \
    X(planted, planted_count, 256)                                                                 \
    X(planted, planted_last, 256)                                                                  \
    X(planted, planted_endless, 256)                                                               \
    X(planted, planted_unaligned, 256)                                                             \
    X(planted, planted_nowhere, 256)                                                               \
    X(planted, planted_deep, 256)                                                                  \
    X(planted, planted_ahead, 256)                                                                 \
    X(planted, planted_mma, 32)

#endif
