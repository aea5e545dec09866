/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speedup: what speculation gains and costs, given alpha, K and c, under iid acceptance.
 * Times are in target calls: a round costs K draft calls of c each and one verification, for every
 * K (assumptions A1 and A3 of docs/formulas/README.md). Pure functions, NaN outside alpha in [0,1],
 * K >= 0, 0 <= c < inf. [Leviathan23] Theorems 3.8 and 3.11, section 3.4;
 * docs/formulas/lengths.md#speedup. */
#ifndef SPECLAB_SPEEDUP_H
#define SPECLAB_SPEEDUP_H

/* Returns the speed-up over plain decoding, for a long text.
 *
 *     speedup = (1 - alpha^(K+1)) / ((1 - alpha) (K c + 1))          [Leviathan23] Theorem 3.8
 *
 *   alpha   acceptance rate, in [0,1]
 *   K       draft length, tokens, >= 0
 *   c       time of a draft call, in target calls, >= 0
 *   returns the factor; exactly 1 at K = 0; (K+1)/(K c + 1) at alpha = 1, the limit
 * Assumes A1, A3 and a long text (finite_length corrects short ones). Checked by: [Leviathan23]
 * Tables 1, 2 and 4. */
double spec_speedup(double alpha, double K, double c);

/* Returns the same from a known or measured mean of n_emitted, without A1.
 *
 *     speedup = emitted / (K c + 1)
 *
 *   emitted tokens per round, >= 0
 *   K       draft tokens per round, >= 0; a mean, so not always whole
 *   c       >= 0 */
double spec_speedup_from_emitted(double emitted, double K, double c);

/* Returns the factor by which speculation multiplies the expected arithmetic operations per token.
 *
 *     (1 - alpha) (K ops_ratio + K + 1) / (1 - alpha^(K+1))          [Leviathan23] Theorem 3.11
 *
 *   ops_ratio   the draft's operations per token divided by the target's, >= 0; finite
 *   returns the factor, 1 at K = 0; 1 + K ops_ratio / (K+1) at alpha = 1, the limit */
double spec_speedup_ops_factor(double alpha, int K, double ops_ratio);

/* Returns how often the target's weights and KV cache are read per token, relative to plain
 * decoding. A round needs one pass.
 *
 *     1 / E[n_emitted]                                               [Leviathan23] section 3.4
 *
 *   returns a factor in [1/(K+1), 1]. The draft's own reads are not counted */
double spec_speedup_memory_factor(double alpha, int K);

/* Returns the speed-up of an oracle that drafts until just before the first rejection, and so pays
 * c only for accepted draft tokens [Leviathan23] section 3.5.
 *
 *     1 / ((1-alpha) + c alpha)                                    docs/formulas/lengths.md#speedup
 *
 *   returns the factor, an upper bound on the speed-up at any K if c <= 1; +inf at alpha = 1, c = 0
 */
double spec_speedup_oracle(double alpha, double c);

/* Returns the smallest K that maximises the speed-up. One more token gains while
 *
 *     alpha^(K+1) (1 + c K) > c E[n_emitted at K]                   docs/formulas/lengths.md#best-K
 *
 * and never again after that, so bisection finds the maximum in O(log K) steps.
 *   returns a whole number; 0 if no K gains (alpha <= c). inf if every further token gains: at
 *           c = 0 < alpha, and at alpha = 1 > c. NaN outside the domain. Within 1e-15 of alpha = 1,
 *           and beyond 2^53, rounding may give a neighbour of K with an equal speed-up
 * Checked by: the largest of all speed-ups in extended precision; the real K of GSL's Lambert
 * function within 1. */
double spec_speedup_best_K(double alpha, double c);

/* Returns the speed-up at the best K, or the supremum over K if the best K is inf: 1/(1-alpha) at c
 * = 0, 1/c at alpha = 1. */
double spec_speedup_best(double alpha, double c);

/* Suppose a round of K draft tokens takes `fixed` + c K (calls - guessed alpha^K) target calls: it
 * makes `calls` draft calls per token, except that a share guessed alpha^K of rounds finds its
 * chain ready and saves K of them. spec_speedup_best_K_between returns the smallest K in low..high
 * that maximises E[n_emitted] divided by this time.
 *
 *   time    fixed > 0, the part without K; calls of the draft per token, >= 1; guessed alpha^K, the
 *           share of rounds that save K calls, with guessed in [0,1]
 *   low     a whole number, >= 0
 *   high    a whole number, >= low, or inf
 *   returns a whole number, or inf if high is inf and every further token gains
 * The quotient rises up to its maximum and falls after it: docs/formulas/lengths.md#best-K. */
typedef struct {
    double fixed, calls, guessed;
} spec_round_time;
double spec_speedup_best_K_between(double alpha, double c, spec_round_time time, double low,
                                   double high);

/* Return the speed-up, the best K and the best speed-up if one draft call computes all rows.
 * Drafting takes pass + token K target calls in a round with K >= 1, and none at K = 0.
 *
 *     speedup = (1 - alpha^(K+1)) / ((1 - alpha) (1 + pass + token K))
 *
 *   pass    time of the call, for every K; c
 *   token   additional time per draft token, e.g. for a Markov head; c_token
 * Domain and limits are as for spec_speedup. best_K is the smallest best K, and 0 if no K gains. It
 * is inf if every further token gains and the limit is above 1, as can happen at token = 0 and at
 * alpha = 1. best is the speed-up at best_K, or the limit. docs/formulas/lengths.md#one-pass.
 * Checked by: the largest of all speed-ups; the Lambert function for a real K. */
double spec_speedup_one_pass(double alpha, double K, double pass, double token);
double spec_speedup_one_pass_best_K(double alpha, double pass, double token);
double spec_speedup_one_pass_best(double alpha, double pass, double token);

/* Returns the alpha above which speculation with this K and c gains; there the speed-up is 1.
 *
 *     root of  alpha + alpha^2 + ... + alpha^K = c K            docs/formulas/lengths.md#break-even
 *
 *   returns alpha in [c, min(1, c K)], to 1e-15 relative: c at K = 1, 0 at c = 0, 1 at c = 1. NaN
 *           if there is no such alpha (c > 1), if the speed-up is 1 at every alpha (K = 0), and
 *           outside the domain
 * Checked by: the speed-up there is 1; the roots for K = 1 and 2. */
double spec_speedup_break_even_alpha(int K, double c);

/* Formulas in circulation that differ from Theorem 3.8, for comparison. Each comes with its
 * mistake. */
typedef struct {
    const char *name, *formula, *mistake;
    double (*speedup)(double alpha, int K, double c); /* NaN outside the domain of spec_speedup */
} spec_folklore;
extern const spec_folklore spec_folklore_rules[]; /* ends with a NULL name */

#endif
