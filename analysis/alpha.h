/* SPDX-License-Identifier: GPL-3.0-or-later */
/* alpha: four numbers that are all called the acceptance rate, with estimators of each.
 * (i) alpha: mean overlap along the target's trajectory. (ii) conditional: the chance that position
 * i is accepted, given that it is tested. (iii) accepted over drafted tokens. (iv) emitted over K +
 * 1. Under iid acceptance (i) and (ii) agree; (iii) agrees with them only if alpha is 0 or 1 or K =
 * 1, and (iv) only by chance. docs/formulas/acceptance.md#four-alphas. */
#ifndef SPECLAB_ALPHA_H
#define SPECLAB_ALPHA_H

#include <gsl/gsl_errno.h>
#include <gsl/gsl_rng.h>
#include <stddef.h>
#include <stdint.h>

/* In all these functions counts[k], k = 0..K, is the number of rounds with n_accepted = k, and 0 <=
 * K <= SPEC_K_MAX. */

/* Computes the numbers of tested and of accepted tokens from the counts.
 *
 *     passed = sum_k k counts[k],   tested = passed + (rounds with n_accepted < K)
 *
 * A round tests draft tokens until one is rejected. It is censored at K, because no further test is
 * made there. Under iid acceptance the likelihood is alpha^passed (1 - alpha)^(tested - passed).
 * Source: docs/formulas/acceptance.md#four-alphas. Checked by: the sums of the tally's tested[] and
 * passed[]; the likelihood's maximum, found numerically. */
void spec_alpha_trials(uint64_t *ret_passed, uint64_t *ret_tested, const uint64_t *counts, int K);

/* Returns the maximum likelihood estimate of (ii), pooled over positions: passed / tested. Under
 * iid acceptance it estimates alpha. NaN without tests. */
double spec_alpha_mle(const uint64_t *counts, int K);

/* Returns the same for drafts of varying lengths, cut by a policy, a window or an end of text, and
 * for trees: rounds with an accepted draft token at depth i, divided by rounds with a tested one,
 * both summed over depths i < n. NaN without tests. Checked by: spec_alpha_mle, which it equals if
 * all drafts have K tokens. */
double spec_alpha_tested(const uint64_t *passed, const uint64_t *tested, int n);

/* Return (iii) and (iv): sum k counts[k] / (K rounds), and (sum k counts[k] + rounds) / ((K+1)
 * rounds). They do not estimate alpha. NaN without rounds; (iii) is NaN at K = 0. */
double spec_alpha_accepted_over_drafted(const uint64_t *counts, int K);
double spec_alpha_emitted_over_K1(const uint64_t *counts, int K);

/* Returns the alpha at which the mean of accepted over drafted is `ratio`, under iid acceptance.
 *
 *     ratio = alpha (1 - alpha^K) / ((1 - alpha) K) = (alpha + alpha^2 + ... + alpha^K) / K
 *
 *   ratio   in [0,1]
 *   K       draft length, tokens, >= 1
 *   returns alpha in [0,1], to about 1e-14. NaN outside the domain, K = 0 included
 * Checked by: the round trip; the quadratic formula at K = 2. */
double spec_alpha_from_accepted_over_drafted(double ratio, int K);

/* Returns the alpha at which a round emits `emitted` tokens on average: the inverse of
 * spec_capped_geometric_mean. emitted in [1, K+1], K >= 1. NaN outside the domain, K = 0 included,
 * where every alpha emits 1. To convert (iv), pass (K+1) times its value. */
double spec_alpha_from_emitted(double emitted, int K);

/* Compute intervals for a probability from `passed` of `tested` at confidence 1 - error, 0 < error
 * < 1, within [0,1]. tested = 0 gives [0,1]. The low end is exactly 0 if passed = 0, the high end
 * exactly 1 if passed = tested. NaN for passed > tested or an `error` outside (0,1). A simultaneous
 * statement about several intervals needs a smaller error for each.
 *
 * Wilson: the p with |passed/tested - p| <= z sqrt(p (1-p) / tested), z the normal quantile
 * [Wilson27]. Coverage is near nominal on average, sometimes below it. Clopper-Pearson: the p for
 * which neither binomial tail, `passed` included, is below error/2 [Clopper34]. Coverage is never
 * below nominal. The ends are roots of the incomplete beta function; the relative error of the tail
 * is below 1e-6 up to tested = 1e9. */
void spec_alpha_wilson_interval(double *ret_low, double *ret_high, uint64_t passed, uint64_t tested,
                                double error);
void spec_alpha_clopper_pearson_interval(double *ret_low, double *ret_high, uint64_t passed,
                                         uint64_t tested, double error);

/* Bootstraps a percentile interval of spec_alpha_mle over rounds [Efron79]: resamples the counts
 * `resamples` times, and takes the quantiles error/2 and 1 - error/2 (interpolated) of the
 * estimates. Rounds are resampled, not tests, so tests within a round may be dependent.
 *
 *   work    (resamples), overwritten by the sorted estimates
 *   returns GSL_EDOM, and zeros, for K outside 0..SPEC_K_MAX, resamples < 1 or error outside (0,1).
 *           NaN ends without tests
 * Deterministic given the generator's state; one multinomial draw per resample (more only beyond
 * 2^31 rounds). */
int spec_alpha_bootstrap(double *ret_low, double *ret_high, const uint64_t *counts, int K,
                         double error, int resamples, double *work, gsl_rng *rng);

#endif
