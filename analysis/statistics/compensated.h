/* SPDX-License-Identifier: GPL-3.0-or-later */
/* compensated: sums that keep their small terms, by Neumaier's method [Neumaier74].
 * A zeroed sum is empty. If all terms have the same sign, the result is right to the last bit or
 * two for any number of terms. A NaN stays NaN. Header only. */
#ifndef SPECLAB_COMPENSATED_H
#define SPECLAB_COMPENSATED_H

#include <math.h>

typedef struct {
    double sum, lost; /* lost collects the rounding error of each addition */
} spec_compensated;

static inline void spec_compensated_add(spec_compensated *total, double x)
{
    double sum = total->sum + x;
    if (fabs(total->sum) >= fabs(x)) {
        total->lost += (total->sum - sum) + x;
    } else {
        total->lost += (x - sum) + total->sum;
    }
    total->sum = sum;
}

static inline double spec_compensated_value(const spec_compensated *total)
{
    return total->sum + total->lost;
}

#endif
