/* speedup: what speculation gains and costs, from alpha, K and c, under iid acceptance (A1).
 * Times are in target calls (A3): a round costs K draft calls of c each and one verification, whatever K. Pure
 * functions, NaN outside alpha in [0,1], K >= 0, 0 <= c < inf. [Leviathan23] Theorems 3.8 and 3.11, Corollary 3.9,
 * section 3.4; docs/formulas.md#speedup. */
#ifndef SPECLAB_SPEEDUP_H
#define SPECLAB_SPEEDUP_H

/* Expected factor by which speculation shortens the time for a long text.
 *
 *     speedup = (1 - alpha^(K+1)) / ((1 - alpha) (K c + 1))                         [Leviathan23] Theorem 3.8
 *
 *   alpha   acceptance rate, in [0,1]
 *   K       draft length, tokens, >= 0
 *   c       time of a draft call, in target calls, >= 0
 *   returns the factor; exactly 1 at K = 0; (K+1)/(K c + 1) at alpha = 1, the limit.
 * Assumes A1, A3 and a long text (finite_length corrects short ones). Checked by: [Leviathan23] Tables 1, 2 and 4. */
double spec_speedup(double alpha, int K, double c);

/* The same from a known or measured mean of n_emitted, which needs no A1.
 *
 *     speedup = emitted / (K c + 1)
 *
 *   emitted tokens per round, >= 0;  K  draft tokens per round, >= 0, not always whole (a mean);  c >= 0. */
double spec_speedup_from_emitted(double emitted, double K, double c);

/* What the better of K = 0 and K = 1 gives: a bound from below on the speed-up of the best K.
 *
 *     max(1, (1 + alpha) / (1 + c))                                                 [Leviathan23] Corollary 3.9
 *
 *   returns the factor; above 1 exactly where alpha > c, which is where some K >= 1 gains. */
double spec_speedup_bound(double alpha, double c);

/* Expected factor by which speculation multiplies arithmetic operations per token.
 *
 *     (1 - alpha) (K ops_ratio + K + 1) / (1 - alpha^(K+1))                         [Leviathan23] Theorem 3.11
 *
 *   ops_ratio   operations of the draft per token, over the target's, >= 0; finite
 *   returns the factor, 1 at K = 0; 1 + K ops_ratio / (K+1) at alpha = 1, the limit. */
double spec_ops_factor(double alpha, int K, double ops_ratio);

/* Reads of the target's weights and cache per token, over plain decoding: one pass serves a round.
 *
 *     1 / E[n_emitted]                                                              [Leviathan23] section 3.4
 *
 *   returns a factor in [1/(K+1), 1]. The draft's own reads are not counted. */
double spec_memory_factor(double alpha, int K);

/* Expected tokens per round of an oracle that drafts until just before the first rejection: 1/(1-alpha), and +inf at
 * alpha = 1. [Leviathan23] section 3.5. */
double spec_oracle_emitted(double alpha);

/* Speed-up of that oracle, which pays c for accepted draft tokens only.
 *
 *     1 / ((1-alpha) + c alpha)                                                     docs/formulas.md#speedup
 *
 *   returns the factor, for c <= 1 an upper bound on that of every K; +inf at alpha = 1, c = 0. */
double spec_oracle_speedup(double alpha, double c);

/* The smallest K in 0..K_max that maximises the speed-up: one more token pays while
 *
 *     alpha^(K+1) (1 + c K) > c E[n_emitted at K]                                   docs/formulas.md#best-K
 *
 * whose two sides part for good once they have met, so that the first failure is the maximum.
 *   returns K; 0 where nothing gains (alpha <= c); K_max at c = 0 < alpha. -1 outside the domain or K_max < 0.
 *           Takes as many steps as it returns.
 * Checked by: the largest of all speed-ups; spec_best_K_lambert within 1. */
int spec_best_K(double alpha, double c, int K_max);

/* The draft length at which the speed-up, as a function of a real K, is largest.
 *
 *     K = log(u) / a - 1,   u = -W_-1(-exp(-1-d)),   d = a (1-c) / c,   a = -log(alpha)   [Corless96]
 *
 *   returns a real, < 0 where even K = 0 is too long (-1 at c = 1). NaN at alpha = 0, alpha = 1, c = 0 and c > 1, where
 *           the speed-up has no stationary point, and outside the domain. Derivation: docs/formulas.md#best-K.
 * Checked by: the derivative there is 0; GSL's Lambert function where its argument does not underflow. */
double spec_best_K_lambert(double alpha, double c);

/* The alpha above which speculation with this K and c gains: where the speed-up is 1.
 *
 *     root of  alpha + alpha^2 + ... + alpha^K = c K                                docs/formulas.md#break-even
 *
 *   returns alpha in [c, min(1, c K)], to 1e-15 relative: c at K = 1, 0 at c = 0, 1 at c = 1. NaN where there is none
 *           (c > 1) or no single one (K = 0, where the speed-up is 1 whatever alpha is), and outside the domain.
 * Allocates GSL's root finder, once a call: not for inner loops. NaN without memory.
 * Checked by: the speed-up there is 1; the roots for K = 1 and 2. */
double spec_break_even_alpha(int K, double c);

/* Formulas that circulate and are not Theorem 3.8; kept to be measured against it. Each names what it forgets. */
typedef struct {
    const char *name, *formula, *mistake;
    double (*speedup)(double alpha, int K, double c); /* NaN outside the domain of spec_speedup */
} spec_folklore;
extern const spec_folklore spec_folklore_rules[]; /* ends with a NULL name */

#endif
