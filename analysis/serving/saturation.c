/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/saturation.h"

#include "analysis/law.h"

#include <math.h>

double spec_saturation_step(double base, double undrafted, double slots, double extra, double steps)
{
    if (!(undrafted > 0.0 && base >= undrafted && slots >= 1.0 && extra >= 0.0 && steps >= 1.0))
        return NAN;
    return base - (base - undrafted) * pow(steps, -slots) + slots * extra / steps;
}

double spec_saturation_rate(double slots, double steps, double step)
{
    if (!(slots >= 1.0 && steps >= 1.0 && step > 0.0)) return NAN;
    return slots / (steps * step);
}

double spec_saturation_tokens_per_round(const double *share, const double *mean, int n)
{
    if (!spec_law_is_whole(spec_law_sum(share, n))) return NAN;
    double rounds = 0.0;
    for (int i = 0; i < n; i++) {
        if (!(mean[i] >= 1.0)) return NAN;
        rounds += share[i] / mean[i];
    }
    return 1.0 / rounds;
}
