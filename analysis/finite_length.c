/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/finite_length.h"

#include "analysis/law.h"

#include <gsl/gsl_minmax.h>
#include <math.h>

double spec_finite_length_rounds(const double *law, int n, int L, double *work)
{
    if (L < 0 || !spec_law_is_whole(spec_law_sum(law, n))) return NAN;

    work[0] = 0.0;
    for (int l = 1; l <= L; l++) {
        double left = 0.0; /* rounds still needed after the first one */
        int reach = GSL_MIN(n, l);
        for (int j = 1; j <= reach; j++) left += law[j - 1] * work[l - j];
        work[l] = 1.0 + left;
    }
    return work[L];
}

double spec_finite_length_rounds_renewal(double mean, double variance, double L)
{
    if (!(mean >= 1.0 && variance >= 0.0 && L >= 1.0)) return NAN;
    return (L - 1.0) / mean + (variance + mean * mean + mean) / (2.0 * mean * mean);
}
