/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/coupling.h"

#include "analysis/statistics/compensated.h"

#include <math.h>

double spec_coupling_gumbel(const spec_ratio_order *order)
{
    if (!order->sorted) return NAN;
    spec_compensated sum = {0};
    /* For tokens above i the target's ratio to token i is larger than the draft's; for tokens below
     * i it is the other way round. */
    for (int i = 0; i < order->n_drafted; i++) {
        if (order->target[i] <= 0) continue;
        double largest =
            order->target_above[i] / order->target[i] + order->draft_below[i] / order->draft[i];
        spec_compensated_add(&sum, 1 / largest);
    }
    return fmin(1, spec_compensated_value(&sum));
}

double spec_coupling_minhash(const spec_ratio_order *order)
{
    if (!order->sorted) return NAN;
    spec_compensated sum = {0};
    for (int i = 0; i < order->n_drafted; i++) {
        double target = order->target[i], draft = order->draft[i];
        spec_compensated_add(&sum, fmin(target, draft) * (1 + fabs(target - draft)));
    }
    return fmin(1, spec_compensated_value(&sum) / (2 - spec_ratio_order_common(order, 1)));
}

double spec_coupling_bound(const spec_ratio_order *order)
{
    if (!order->sorted) return NAN;
    double common = spec_ratio_order_common(order, 1);
    return common / (2 - common);
}

double spec_coupling_arrivals(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    spec_compensated sum = {0};
    for (int i = 0; i < order->n_drafted; i++) {
        const double agrees =
            fmin(1, 1 / (order->target_above[i] + order->draft_below[i] * order->ratio[i]));
        spec_compensated_add(&sum, order->target[i] * -expm1(n * log1p(-agrees)));
    }
    return fmin(1, spec_compensated_value(&sum));
}
