/* acceptance_kernels: blocks of 32 rounds in lock step, one a lane; internal to sim/acceptance*.
 * Every instruction set has the same two kernels; they draw the same uniforms in the same order, so their tails are the
 * same. */
#ifndef SPECLAB_ACCEPTANCE_KERNELS_H
#define SPECLAB_ACCEPTANCE_KERNELS_H

#include "sim/chance/lanes_step.h"

/* Letters: N rounds, K positions, u the uniform of a lane at a position.
 *   tail       (K) tail[i] grows by the rounds whose draft tokens 0..i all passed
 *   limit      (K) token i passes where u <= limit[i] (a chance of 0 is cut off by a smaller K)
 * A block stops drawing when none of its rounds is alive. The last block begins with N mod 32 rounds alive, the lowest
 * lanes. */
typedef void spec_acceptance_positional(uint64_t *tail, spec_lanes *lanes, const uint32_t *limit, int K, uint64_t N);

/* An event that happens where u <= limit, if it can happen at all. */
typedef struct {
    uint32_t limit;
    uint32_t can; /* all ones or 0 */
} spec_event;

/* At each position a lane draws first whether its hidden state flips (at position 0 from high, by `begin`, then by
 * `flip`), then whether the token passes, by pass[0] in the low state and pass[1] in the high one. */
typedef struct {
    spec_event begin, flip, pass[2];
} spec_acceptance_hidden;
typedef void spec_acceptance_markov(uint64_t *tail, spec_lanes *lanes, const spec_acceptance_hidden *hidden, int K,
                                    uint64_t N);

spec_acceptance_positional spec_acceptance_positional_ref, spec_acceptance_positional_avx2,
    spec_acceptance_positional_avx512;
spec_acceptance_markov spec_acceptance_markov_ref, spec_acceptance_markov_avx2, spec_acceptance_markov_avx512;

/* Lanes alive at the start of a block when `left` rounds remain: bit l for lane l. */
static inline uint32_t spec_acceptance_alive(uint64_t left)
{
    return left >= SPEC_LANES ? UINT32_MAX : ((uint32_t)1 << left) - 1;
}

#endif
