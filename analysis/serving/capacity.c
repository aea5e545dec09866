/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/capacity.h"

#include <math.h>

double spec_capacity_load(double rate, double extra)
{
    return rate >= 0.0 && extra >= 0.0 ? rate * extra : NAN;
}

double spec_capacity_rate(double extra)
{
    return extra >= 0.0 ? 1.0 / extra : NAN;
}

double spec_capacity_limited(double extra, double step, double draft, double held,
                             double held_rounds, double limit)
{
    if (!(extra >= 0.0 && step >= 0.0 && draft >= 0.0 && held_rounds >= 0.0 &&
          held >= held_rounds && limit > 0.0))
        return NAN;
    return 1.0 / (extra + (step * held + draft * held_rounds) / limit);
}

double spec_capacity_step(double base, double load, double extra, double idle)
{
    if (!(base > 0.0 && load >= 0.0 && extra >= 0.0 && idle >= 0.0 && idle <= 1.0)) return NAN;
    return load < 1.0 ? (base + idle * extra) / (1.0 - load) : INFINITY;
}

double spec_capacity_batch(double rate, double steps, double step, double idle)
{
    if (!(rate >= 0.0 && steps >= 0.0 && step > 0.0 && idle >= 0.0 && idle <= 1.0)) return NAN;
    return steps * (rate * step + idle);
}
