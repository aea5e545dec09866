/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance_kernels: kernels that run 32 rounds in lockstep, one per lane; internal to acceptance.
 * Every instruction set has the same two kernels. All draw the same uniforms in the same order, so
 * their tails are equal. */
#ifndef SPECLAB_ACCEPTANCE_KERNELS_H
#define SPECLAB_ACCEPTANCE_KERNELS_H

#include "sim/chance/lanes_step.h"

/* Letters: N rounds, K positions, u the uniform of a lane at a position.
 *   tail       (K) tail[i] grows by the number of rounds that accepted all of the draft tokens 0..i
 *   limit      (K) token i is accepted if u <= limit[i]; a chance of 0 is expressed by a smaller K
 * A block stops drawing once all its rounds have ended. The last block starts with only its N mod
 * 32 lowest lanes alive. */
typedef void spec_acceptance_positional(uint64_t *tail, spec_lanes *lanes, const uint32_t *limit,
                                        int K, uint64_t N);

/* An event that happens if u <= limit and `can` is set. */
typedef struct {
    uint32_t limit;
    uint32_t can; /* all ones or 0 */
} spec_event;

/* Each lane draws two uniforms per position. The first decides whether the hidden state flips: from
 * high with `begin` at position 0, later with `flip`. The second decides acceptance: pass[0] in the
 * low state, pass[1] in the high one. */
typedef struct {
    spec_event begin, flip, pass[2];
} spec_acceptance_hidden;
typedef void spec_acceptance_markov(uint64_t *tail, spec_lanes *lanes,
                                    const spec_acceptance_hidden *hidden, int K, uint64_t N);

spec_acceptance_positional spec_acceptance_positional_ref, spec_acceptance_positional_avx2,
    spec_acceptance_positional_avx512, spec_acceptance_positional_neon;
spec_acceptance_markov spec_acceptance_markov_ref, spec_acceptance_markov_avx2,
    spec_acceptance_markov_avx512, spec_acceptance_markov_neon;

/* Returns which lanes are alive at the start of a block when `left` rounds remain: bit l is lane
 * l. */
static inline uint32_t spec_acceptance_alive(uint64_t left)
{
    return left >= SPEC_LANES ? UINT32_MAX : ((uint32_t)1 << left) - 1;
}

#endif
