/* SPDX-License-Identifier: GPL-3.0-or-later */
/* law: checks that an array is a probability distribution.
 * All of analysis uses one tolerance: a sum may differ from 1 by 1e-9, to allow for rounding of a
 * long law or of printed digits. Pure functions. */
#ifndef SPECLAB_LAW_H
#define SPECLAB_LAW_H

#include <stdbool.h>

/* Returns the sum of law (n); NaN if an entry is negative or NaN; 0 for n = 0. */
double spec_law_sum(const double *law, int n);

/* Returns whether such a sum, or a total of several, is 1 within 1e-9. */
bool spec_law_is_whole(double sum);

#endif
