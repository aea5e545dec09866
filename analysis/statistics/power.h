/* power: how many draws a chi-square test needs, and what it can find. Against every alternative at total variation
 * distance TV chi-square's noncentrality for n draws is at least 4 n TV^2, since chi-square divergence >= 4 TV^2; so the
 * noncentral chi-square law gives a guaranteed power where no cells are pooled. docs/formulas.md#power. */
#ifndef SPECLAB_POWER_H
#define SPECLAB_POWER_H

/* The noncentrality at which a chi-square test of `df` degrees of freedom at level alpha has that power.
 *   df >= 1; alpha in (0,1), to 1e-12 and below; power in (alpha,1). NaN outside. */
double spec_power_noncentrality(double df, double alpha, double power);

/* The upper tail of the noncentral chi-square law: its power where x is the critical value. */
double spec_power_noncentral_tail(double x, double df, double noncentrality);

/* Draws that guarantee the power against every alternative with TV >= tv: lambda/(4 tv^2). And the reverse: the TV that
 * n draws are sure to find. */
double spec_power_draws(double tv, double df, double alpha, double power);
double spec_power_detectable(double n, double df, double alpha, double power);

#endif
