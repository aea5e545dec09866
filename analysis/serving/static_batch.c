/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/static_batch.h"

#include <math.h>

double spec_static_batch_rounds(const spec_rounds_law *law, double B)
{
    if (!(B >= 1.0)) return NAN;
    double sum = 0.0;
    for (int j = law->n; j-- > 0;) sum -= expm1(B * log1p(-fmin(law->longer[j], 1.0)));
    return sum;
}
