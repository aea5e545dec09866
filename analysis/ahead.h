/* ahead: what it gains to draft the next chain while this one is verified, after a guess of how the round comes out.
 * A round's chain is there if the round before it was accepted throughout (A1) and its bonus token was guessed, which
 * has a chance of its own. Pure functions, NaN outside the domain. [Liu25] [Kumar26]; docs/formulas.md#ahead. */
#ifndef SPECLAB_AHEAD_H
#define SPECLAB_AHEAD_H

/* Share of rounds whose chain is there, in a long text.
 *
 *     hit = alpha^K guessed                                                           docs/formulas.md#ahead
 *
 *   alpha   acceptance rate, in [0,1]
 *   K       draft length, tokens, >= 0
 *   guessed chance that the bonus token is the one that was guessed, in [0,1]
 *   returns a share; 0 at K = 0, where there is no chain.
 * Checked by: the chain of rounds, summed over what each may come out as; rounds of the decoder. */
double spec_ahead_hit(double alpha, int K, double guessed);

/* Expected time of a round of a long text, in any unit.
 *
 *     handed + max(verify - handed, during) + (1 - hit) before                      docs/formulas.md#ahead
 *
 *   hit     share of rounds whose chain is there, in [0,1]
 *   before  drafting a chain where it is not there, >= 0
 *   during  drafting ahead, the guess and a chain, >= 0
 *   verify  verification, >= 0
 *   handed  the part of it in which nothing else is done, in 0..verify: 0 where the draft model has a device of its
 *           own, verify where both have one
 *   returns a time; all of them finite. */
double spec_ahead_round(double hit, double before, double during, double verify, double handed);

/* Speed-up over plain decoding for a long text, costs as in A3.
 *
 *     E[n_emitted] / (handed + max(1 - handed, (K+1) c) + (1 - alpha^K guessed) K c)
 *
 *   alpha, K, guessed  as above;  c  time of a draft call, in target calls, >= 0;  handed  as above, in [0,1]
 *   returns the factor; 1 at K = 0. With handed = 0 it is at least spec_speedup where (K+1) c <= 1, and the more the
 *           higher the hit; with handed = 1 always less, where c > 0: the guess is in vain.
 * Checked by: the virtual clock of the decoder. */
double spec_ahead_speedup(double alpha, int K, double c, double guessed, double handed);

/* Expected time of the first n rounds of a text: the first one has no chain there.
 *
 *     n (handed + max(verify - handed, during)) + (n - (n-1) hit) before
 *
 *   n       rounds, >= 1;  hit = chance that a round is followed by one whose chain is there; the others as above. */
double spec_ahead_rounds(int n, double hit, double before, double during, double verify, double handed);

/* The share of hits above which drafting ahead gains over drafting each chain beforehand, a verification being one
 * target call of which nothing is handed: where the two rounds last as long.
 *
 *     max(0, (K+1) c - 1) / (K c)                                                   docs/formulas.md#ahead
 *
 *   returns a share; 0 where (K+1) c <= 1; above 1 where c > 1: nothing gains. NaN at K = 0 and at c = 0, where
 *           there is nothing to save. */
double spec_ahead_break_even(int K, double c);

/* The cost of a draft call below which drafting ahead gains over drafting each chain beforehand, nothing being handed.
 *
 *     1 / (1 + (1 - hit) K)                                                         docs/formulas.md#ahead
 *
 *   alpha, K, guessed  as above, K >= 1
 *   returns target calls, from 1/(K+1) at hit = 0 to 1 at hit = 1. NaN at K = 0.
 * Checked by: both speed-ups are one there. */
double spec_ahead_break_even_cost(double alpha, int K, double guessed);

/* The smallest K in 0..K_max that maximises spec_ahead_speedup. It need not be the only place where that turns: beyond
 * (K+1) c = 1 the round grows by the draft's whole time.
 *   returns K; 0 where nothing gains; K_max at c = 0 < alpha. -1 outside the domain or K_max < 0.
 * Checked by: the largest of all. */
int spec_ahead_best_K(double alpha, double c, double guessed, double handed, int K_max);

/* Another way to overlap, for comparison: PEARL's, which drafts all the time and never waits for a chain.
 *
 *     (1 - alpha^K) / ((1 - alpha) (1 - alpha^K + alpha)) / max(1, K c)             docs/formulas.md#ahead-others
 *
 * Each of its steps drafts K tokens while the target makes a pass: after a rejection (pre-verify) of the text alone, which
 * tests the first of them; else (post-verify) of the K tokens before, which tests all but the first of these and the first
 * of the new ones. A rejection ends a step with the correction; there is no bonus, and so nothing to guess.
 *   alpha, c  as above;  K  tokens drafted in a step, >= 1
 *   returns the factor over plain decoding of a long text; K / max(1, K c) at alpha = 1, the limit. NaN at K = 0.
 * Assumes A1, A3. Derived from the algorithm of [Liu25]. Checked by: a walk over its steps; draws of its tokens. */
double spec_ahead_pearl_speedup(double alpha, int K, double c);

#endif
