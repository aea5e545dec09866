/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/multi_draft.h"

#include "analysis/statistics/compensated.h"

#include <math.h>

static const double rho_slack = 1e-12; /* allows for the rounding of the root rho */

/* Returns 1 - (1 - chance)^n, the chance of at least one success in n, without cancellation. */
static double any_of(double chance, int n)
{
    return -expm1(n * log1p(-chance));
}

double spec_multi_draft_match(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    spec_compensated sum = {0};
    for (int i = 0; i < order->n_drafted; i++) {
        spec_compensated_add(&sum, order->target[i] * any_of(fmin(1, order->draft[i]), n));
    }
    return fmin(1, spec_compensated_value(&sum));
}

/* ---- the most probable tokens ---------------------------------------------------------------- */

/* Returns whether entry i of the order is a more probable draft than entry j or, if they are equal,
 * whether it is the lower token. */
static bool before(const spec_ratio_order *order, int i, int j)
{
    if (order->draft[i] != order->draft[j]) return order->draft[i] > order->draft[j];
    return order->token[i] < order->token[j];
}

/* Returns the entry of the order with the n-th most probable draft token, 1 <= n <= V. */
static int nth_of_top(const spec_ratio_order *order, int n)
{
    int last = -1;
    for (int k = 0; k < n; k++) {
        int best = -1;
        for (int i = 0; i < order->V; i++) {
            if (last >= 0 && !before(order, last, i)) continue; /* taken already */
            if (best < 0 || before(order, i, best)) best = i;
        }
        last = best;
    }
    return last;
}

double spec_multi_draft_match_top(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    if (n >= order->V) return 1;
    spec_compensated sum = {0};
    int last = nth_of_top(order, n);
    for (int i = 0; i < order->V; i++) {
        if (!before(order, last, i)) spec_compensated_add(&sum, order->target[i]);
    }
    return spec_compensated_value(&sum);
}

double spec_multi_draft_greedy(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    if (n > order->V) return 1;
    int last = n > 1 ? nth_of_top(order, n - 1) : -1;
    spec_compensated rest = {0};
    for (int i = 0; i < order->V; i++) {
        if (last < 0 || before(order, last, i)) spec_compensated_add(&rest, order->draft[i]);
    }
    double whole = spec_compensated_value(&rest), even = 1.0 / (order->V - n + 1);
    spec_compensated sum = {0};
    for (int i = 0; i < order->V; i++) {
        double drawn = whole > 0 ? order->draft[i] / whole : even;
        bool top = last >= 0 && !before(order, last, i);
        spec_compensated_add(&sum, top ? order->target[i] : fmin(order->target[i], drawn));
    }
    return fmin(1, spec_compensated_value(&sum));
}

double spec_multi_draft_spechub(const spec_ratio_order *order, int n)
{
    return n == 2 ? spec_multi_draft_greedy(order, 2) : NAN;
}

/* ---- rejection, one draft after the other ---------------------------------------------------- */

double spec_multi_draft_naive_tree(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    spec_compensated sum = {0};
    for (int i = 0; i < order->n_drafted; i++) {
        double target = order->target[i], draft = order->draft[i];
        spec_compensated_add(&sum, fmin(target, draft));
        if (target > draft) spec_compensated_add(&sum, (target - draft) * any_of(draft, n - 1));
    }
    return fmin(1, spec_compensated_value(&sum));
}

double spec_multi_draft_rrs(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    double scale = 1;
    for (int i = 1; i < n; i++) scale += spec_ratio_order_residual(order, scale);
    return spec_ratio_order_common(order, scale);
}

/* ---- one threshold for all drafts ------------------------------------------------------------ */

double spec_multi_draft_kseq_rho(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    double low = 1, high = n;
    for (;;) { /* accepted - common decreases with rho */
        double rho = low + (high - low) / 2, common = spec_ratio_order_common(order, rho);
        if (rho <= low || rho >= high) return low;
        if (any_of(common / rho, n) > common) {
            low = rho;
        } else {
            high = rho;
        }
    }
}

double spec_multi_draft_kseq(const spec_ratio_order *order, int n)
{
    return spec_ratio_order_common(order, spec_multi_draft_kseq_rho(order, n));
}

double spec_multi_draft_kseq_at(const spec_ratio_order *order, int n, double rho)
{
    if (!spec_ratio_order_defined(order, n) || !(rho >= 1) || isinf(rho)) return NAN;
    double common = spec_ratio_order_common(order, rho), beta = common / rho,
           accepted = any_of(beta, n);
    if (accepted > common * (1 + rho_slack)) return NAN;
    if (common <= 0) return 0;
    /* the residual has this share of the target's probability of tokens that can be rejected */
    double kept = fmax(0, 1 - accepted / common);
    spec_compensated sum = {0};
    spec_compensated_add(&sum, accepted);
    int n_rejectable = spec_ratio_order_count(order, rho);
    for (int i = 0; i < n_rejectable; i++) {
        double rejected = (order->draft[i] - order->target[i] / rho) / (1 - beta);
        spec_compensated_add(&sum, kept * order->target[i] * any_of(fmin(1, rejected), n));
    }
    return fmin(1, spec_compensated_value(&sum));
}
