/* alpha: four numbers that are all called the acceptance rate, and how to estimate each.
 * (i) alpha: mean overlap along the target's trajectory; (ii) conditional: chance that position i is accepted, given that it is tested;
 * (iii) accepted over drafted tokens; (iv) emitted over K + 1. They agree only at 0 and 1. docs/formulas.md#four-alphas. */
#ifndef SPECLAB_ALPHA_H
#define SPECLAB_ALPHA_H

#include <gsl/gsl_rng.h>
#include <stddef.h>
#include <stdint.h>

/* counts[k], k = 0..K: rounds with n_accepted = k. Under iid acceptance the likelihood is that of `passed` successes in `tested` trials,
 * passed = sum k counts[k], tested = passed + rounds that ended before K: censored at K. */
void spec_alpha_trials(uint64_t *ret_passed, uint64_t *ret_tested, const uint64_t *counts, int K);
double spec_alpha_mle(const uint64_t *counts, int K);                     /* passed / tested; NaN without trials */

double spec_alpha_accepted_over_drafted(const uint64_t *counts, int K);   /* (iii) */
double spec_alpha_emitted_over_K1(const uint64_t *counts, int K);         /* (iv) */

/* Invert (iii) and (iv) under iid acceptance: the alpha whose expectation they are. NaN outside the range. */
double spec_alpha_from_accepted_over_drafted(double ratio, int K);
double spec_alpha_from_emitted(double emitted, int K);

/* Intervals for a probability from `passed` of `tested`, at confidence 1 - error. */
void spec_wilson_interval(double *ret_low, double *ret_high, uint64_t passed, uint64_t tested, double error);
void spec_clopper_pearson_interval(double *ret_low, double *ret_high, uint64_t passed, uint64_t tested, double error);

/* Percentile bootstrap over rounds: resample the counts (multinomial) `resamples` times. work (resamples). One multinomial draw each. */
int spec_alpha_bootstrap(double *ret_low, double *ret_high, const uint64_t *counts, int K, double error, int resamples,
                         double *work, gsl_rng *rng);

#endif
