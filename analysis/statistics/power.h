/* SPDX-License-Identifier: GPL-3.0-or-later */
/* power: sample size and power of a chi-square test.
 * For an alternative at total variation distance TV, the noncentrality of n draws is at least 4 n
 * TV^2, because chi-square divergence >= 4 TV^2. So if no cells are pooled, the noncentral
 * chi-square distribution guarantees a power. docs/formulas/statistics.md#power. */
#ifndef SPECLAB_POWER_H
#define SPECLAB_POWER_H

/* Returns the noncentrality at which a chi-square test with `df` degrees of freedom and level alpha
 * has this power. df >= 1; alpha in (0,1), even below 1e-12; power in (alpha,1). NaN outside. */
double spec_power_noncentrality(double df, double alpha, double power);

/* Returns the same for a statistic that must exceed `critical` >= 0; 0 if the central distribution
 * already exceeds it with this probability. */
double spec_power_noncentrality_beyond(double critical, double df, double power);

/* Returns the upper tail of the noncentral chi-square law: the power if x is the critical value. */
double spec_power_noncentral_tail(double x, double df, double noncentrality);

/* Return the draws that guarantee the power against every alternative with TV >= tv, lambda/(4
 * tv^2), and the inverse, the TV that n draws detect with this power. */
double spec_power_draws(double tv, double df, double alpha, double power);
double spec_power_detectable(double n, double df, double alpha, double power);

#endif
