/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/law.h"

#include <math.h>

double spec_law_sum(const double *law, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += law[i] >= 0.0 ? law[i] : NAN;
    return sum;
}

bool spec_law_is_whole(double sum)
{
    return fabs(sum - 1.0) <= 1e-9;
}
