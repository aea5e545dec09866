/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ahead: what we gain by drafting the next chain while the target verifies the current one.
 * The chain is drafted after a guess of how the round ends. It is used if the round is accepted in
 * full (A1) and its bonus token was guessed, which happens with a separate chance. Pure functions,
 * NaN outside the domain. [Liu25] [Kumar26]; docs/formulas/lengths.md#ahead. */
#ifndef SPECLAB_AHEAD_H
#define SPECLAB_AHEAD_H

/* Returns the share of rounds whose chain was drafted ahead, in a long text.
 *
 *     hit = alpha^K guessed                                          docs/formulas/lengths.md#ahead
 *
 *   alpha   acceptance rate, in [0,1]
 *   K       draft length, tokens, >= 0
 *   guessed chance that the guess of the bonus token is right, in [0,1]
 *   returns a share; 0 at K = 0, where there is no chain
 * Checked by: the Markov chain of rounds, summed over their outcomes; rounds of the decoder. */
double spec_ahead_hit(double alpha, double K, double guessed);

/* Returns the expected time of a round in a long text, in any unit.
 *
 *     handed + max(verify - handed, during) + (1 - hit) before       docs/formulas/lengths.md#ahead
 *
 *   hit     share of rounds whose chain was drafted ahead, in [0,1]
 *   before  time to draft a chain beforehand, >= 0
 *   during  time to draft ahead: the guess and a chain, >= 0
 *   verify  time of the verification, >= 0
 *   handed  the part of it that cannot overlap, in 0..verify: 0 if the draft has its own device,
 *           verify if both models share one
 *   returns a time; all arguments must be finite */
double spec_ahead_round(double hit, double before, double during, double verify, double handed);

/* Returns the speed-up over plain decoding for a long text, with costs as in A3.
 *
 *     E[n_emitted] / (handed + max(1 - handed, (K+1) c) + (1 - alpha^K guessed) K c)
 *
 *   alpha, K, guessed  as above
 *   c       time of a draft call, in target calls, >= 0
 *   handed  as above, in [0,1]
 *   returns the factor; 1 at K = 0
 * With handed = 0 it is at least spec_speedup if (K+1) c <= 1, and grows with the hit. With handed
 * = 1 it is below that, for c > 0 and K >= 1, because the guess costs time and saves none. Checked
 * by: the virtual clock of the decoder. */
double spec_ahead_speedup(double alpha, double K, double c, double guessed, double handed);

/* Returns the expected time of the first n rounds of a text. The first of them has no chain drafted
 * ahead.
 *
 *     n (handed + max(verify - handed, during)) + (n - (n-1) hit) before
 *
 *   n       rounds, >= 1
 *   hit     chance that the next round has a chain drafted ahead; the others as above */
double spec_ahead_rounds(int n, double hit, double before, double during, double verify,
                         double handed);

/* Returns the hit rate above which drafting ahead is faster than drafting each chain beforehand; at
 * this rate both take the same time. Verification takes one target call, and handed is 0.
 *
 *     max(0, (K+1) c - 1) / (K c)                                    docs/formulas/lengths.md#ahead
 *
 *   returns a share; 0 if (K+1) c <= 1; above 1 if c > 1: no hit gains. NaN at K = 0 and at c = 0,
 *           where drafting costs nothing */
double spec_ahead_break_even(int K, double c);

/* Returns the cost of a draft call at and above which drafting ahead is not faster than drafting
 * each chain beforehand, with handed = 0. Below it drafting ahead gains if c > 0 and hit > 0; both
 * take the same time if either is 0.
 *
 *     1 / (1 + (1 - hit) K)                                          docs/formulas/lengths.md#ahead
 *
 *   alpha, K, guessed  as above, K >= 1
 *   returns target calls, from 1/(K+1) at hit = 0 to 1 at hit = 1. NaN at K = 0
 * Checked by: both speed-ups are equal there. */
double spec_ahead_break_even_cost(double alpha, int K, double guessed);

/* Returns the smallest K that maximises spec_ahead_speedup; docs/formulas/lengths.md#ahead. It is
 * the better of two maxima. The first is over the K whose guess and chain fit into the rest of the
 * verification, (K+1) c <= 1 - handed, the second over longer chains. O(log K) steps.
 *   returns an integer; 0 if no K gains. inf if every further token gains: at c = 0 < alpha,
 *           and at alpha = 1 if 1/((2 - guessed) c) exceeds the value at every K. NaN outside the
 *           domain
 * Checked by: the largest of all speed-ups; the values at large K. */
double spec_ahead_best_K(double alpha, double c, double guessed, double handed);

/* Returns the speed-up at that K, or the supremum over K if it is inf. */
double spec_ahead_best_speedup(double alpha, double c, double guessed, double handed);

/* Returns the speed-up of PEARL, for comparison. PEARL overlaps differently: it drafts all the time
 * and never waits for a chain.
 *
 *     (1 - alpha^K) / ((1 - alpha) (1 - alpha^K + alpha)) / max(1, K c)
 *                                                             docs/formulas/lengths.md#ahead-others
 *
 * Each of its steps drafts K tokens during one target pass. After a rejection (pre-verify) the pass
 * reads only the text, and tests the first new token. Otherwise (post-verify) it reads the previous
 * K tokens, and tests all but the first of these and the first of the new ones. A rejection ends a
 * step with the correction. There is no bonus, so there is nothing to guess.
 *   alpha, c  as above
 *   K       tokens drafted in a step, >= 1
 *   returns the factor over plain decoding of a long text; K / max(1, K c) at alpha = 1, the limit.
 *           NaN at K = 0
 * Assumes A1, A3. Derived from the algorithm of [Liu25]. Checked by: a walk over its steps; draws
 * of its tokens. */
double spec_ahead_pearl_speedup(double alpha, int K, double c);

#endif
