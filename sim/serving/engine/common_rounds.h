/* SPDX-License-Identifier: GPL-3.0-or-later */
/* common_rounds: one round of many requests that all draft K tokens, computed with vectors.
 * Each request compares one uniform number u with the powers of its alpha: n_accepted is the number
 * of j in 1..K for which u < alpha^j. Every instruction set gives the same result. */
#ifndef SPECLAB_COMMON_ROUNDS_H
#define SPECLAB_COMMON_ROUNDS_H

#include "base/cpu.h"

#include <stdint.h>

/* Returns how many of K draft tokens are accepted. */
static inline int spec_common_rounds_accepted(float number, float alpha, int K)
{
    int n = 0;
    float tail = alpha;
    for (int j = 0; j < K; j++, tail *= alpha) n += number < tail;
    return n;
}

enum {
    SPEC_COMMON_ROUNDS_PAD = 16
}; /* each array has this many elements past n, which do not change */

typedef struct {
    int n, K;
    const uint32_t *word; /* (n) uniform numbers, to be read with spec_uniforms_of */
    const float *alpha;   /* (n) */
    int32_t *left;        /* (n) tokens to emit, >= 1; the round subtracts min(n_accepted + 1,
                           * left) */
    uint64_t *opt_past;   /* (n) `left` before the round is added to it */
    /* With opt_last a request uses its previous number (>= 0) again if its number in `again`, which
     * is uniform like word, is below `stay`. The round stores the number it used in opt_last. */
    float *opt_last;
    const uint32_t *again;
    float stay;
} spec_common_rounds;

typedef struct {
    int64_t accepted, emitted;
    int completed; /* requests that have nothing left to emit */
} spec_common_rounds_sums;

typedef spec_common_rounds_sums spec_common_rounds_kernel(const spec_common_rounds *rounds);

spec_common_rounds_kernel spec_common_rounds_portable, spec_common_rounds_avx2,
    spec_common_rounds_avx512;
spec_common_rounds_kernel *spec_common_rounds_kernel_of(spec_isa isa);

#endif
