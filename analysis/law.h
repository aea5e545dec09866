/* law: is this array a probability law?
 * One tolerance for all of analysis: sums may be off 1 by 1e-9, what rounding of a long law or of printed digits
 * leaves. Pure functions. */
#ifndef SPECLAB_LAW_H
#define SPECLAB_LAW_H

#include <stdbool.h>

/* The sum of law (n); NaN where an entry is negative or NaN. 0 for n = 0. */
double spec_law_sum(const double *law, int n);

/* Whether such a sum, or several together, is 1 within 1e-9. */
bool spec_law_is_whole(double sum);

#endif
