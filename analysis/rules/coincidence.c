#include "analysis/rules/coincidence.h"

#include "analysis/statistics/compensated.h"

#include <math.h>

static bool defined(const spec_ratio_order *order, int n)
{
    return order->sorted && n >= 1 && n <= SPEC_DRAFTS_MAX;
}

/* Draft probability of all tokens but entry i, without cancellation. */
static double others(const spec_ratio_order *order, int i)
{
    return order->draft_below[i] + order->draft_above[i + 1];
}

/* ---- without replacement ----------------------------------------------------------------------------------------- */

/* One node of the integral: at time s, the chance that fewer than n clocks but the one of the target's sample have
 * rung, times the density of that one. exactly[k]: k clocks have rung; marked[k]: the same and one more clock rings
 * now, that of a token drawn from the target. */
static double race_at(const spec_ratio_order *order, int n, double s)
{
    double exactly[SPEC_DRAFTS_MAX] = {1}, marked[SPEC_DRAFTS_MAX] = {0}, sum = 0;
    for (int i = 0; i < order->n_drafted; i++) {
        const double silent = exp(-order->draft[i] * s), rung = -expm1(-order->draft[i] * s);
        const double rings = order->target[i] * order->draft[i] * silent;
        for (int k = n - 1; k >= 0; k--) {
            const double marked_below = k > 0 ? marked[k - 1] * rung : 0, below = k > 0 ? exactly[k - 1] * rung : 0;
            marked[k] = marked[k] * silent + marked_below + exactly[k] * rings;
            exactly[k] = exactly[k] * silent + below;
        }
    }
    for (int k = 0; k < n; k++) sum += marked[k];
    return sum;
}

double spec_match_race_acceptance(const spec_ratio_order *order, int n)
{
    if (!defined(order, n) || n >= order->n_drafted) return NAN;
    double least = 1;
    for (int i = 0; i < order->n_drafted; i++) least = fmin(least, order->draft[i]);
    /* s = exp(t - exp(-t)) by the trapezoid rule, as for the optimum. */
    const double last = fmin(700, log(50) - log(least)), step = n <= 6 ? 0.2 : n <= 24 ? 0.125 : 0.0625;
    spec_compensated sum = {0};
    for (int j = (int)(-4 / step); j * step < last; j++) {
        const double t = j * step, s = exp(t - exp(-t));
        spec_compensated_add(&sum, step * s * (1 + exp(-t)) * race_at(order, n, s));
    }
    return fmin(1, spec_compensated_value(&sum));
}

/* Token x is drawn first, or after another y: draft(x) (1 + sum over y != x of draft(y) / (1 - draft(y))). */
static double match_two(const spec_ratio_order *order)
{
    spec_compensated odds = {0}, sum = {0};
    for (int i = order->n_drafted - 1; i >= 0; i--) {
        order->work[i] = spec_compensated_value(&odds); /* of the entries above i */
        spec_compensated_add(&odds, order->draft[i] / others(order, i));
    }
    odds = (spec_compensated){0};
    for (int i = 0; i < order->n_drafted; i++) {
        const double either = 1 + spec_compensated_value(&odds) + order->work[i];
        spec_compensated_add(&sum, order->target[i] * order->draft[i] * either);
        spec_compensated_add(&odds, order->draft[i] / others(order, i));
    }
    return fmin(1, spec_compensated_value(&sum));
}

double spec_match_without_acceptance(const spec_ratio_order *order, int n)
{
    if (!defined(order, n)) return NAN;
    if (n >= order->V) return 1;
    if (n >= order->n_drafted) { /* all that the draft can draw, and the others alike */
        const int first = order->n_drafted;
        return fmin(1, order->target_below[first] + order->target_above[first] * (n - first) / (order->V - first));
    }
    if (n == 1) return spec_match_acceptance(order, 1);
    return n == 2 ? match_two(order) : spec_match_race_acceptance(order, n);
}

/* ---- the most probable tokens, and one of the others ------------------------------------------------------------- */

double spec_match_greedy_acceptance(const spec_ratio_order *order, int n)
{
    if (!defined(order, n)) return NAN;
    if (n > order->V) return 1;
    /* Top is taken away from a copy of the draft, entry by entry. */
    double *rest = order->work;
    spec_compensated sum = {0}, whole = {0};
    for (int i = 0; i < order->V; i++) rest[i] = order->draft[i];
    for (int k = 1; k < n; k++) {
        int best = -1;
        for (int i = 0; i < order->V; i++) {
            if (rest[i] < 0) continue;
            if (best < 0 || rest[i] > rest[best] || (rest[i] == rest[best] && order->token[i] < order->token[best]))
                best = i;
        }
        spec_compensated_add(&sum, order->target[best]);
        rest[best] = -1;
    }
    for (int i = 0; i < order->V; i++) spec_compensated_add(&whole, fmax(0, rest[i]));
    const double left = spec_compensated_value(&whole), even = 1.0 / (order->V - n + 1);
    for (int i = 0; i < order->V; i++)
        if (rest[i] >= 0) spec_compensated_add(&sum, order->target[i] * (left > 0 ? rest[i] / left : even));
    return fmin(1, spec_compensated_value(&sum));
}

/* ---- naive tree -------------------------------------------------------------------------------------------------- */

/* residual(i) and missed(i) of an entry. */
static double over(const spec_ratio_order *order, int i)
{
    return fmax(0, order->target[i] - order->draft[i]);
}

static double under(const spec_ratio_order *order, int i)
{
    return fmax(0, order->draft[i] - order->target[i]);
}

/* kept over excess is added to the overlap. */
static double with_kept(const spec_ratio_order *order, double kept)
{
    const double excess = spec_ratio_order_excess(order, 1), overlap = spec_ratio_order_common(order, 1);
    return excess > 0 ? fmin(1, overlap + kept / excess) : overlap;
}

double spec_naive_tree_without_acceptance(const spec_ratio_order *order, int n)
{
    if (!defined(order, n)) return NAN;
    if (n >= order->V) return 1;
    if (n == 1) return spec_ratio_order_common(order, 1);
    if (n > 2) return NAN;
    spec_compensated odds = {0}, drafted = {0};
    double kept = 0;
    for (int i = 0; i < order->V; i++) {
        if (others(order, i) > 0) spec_compensated_add(&odds, under(order, i) / others(order, i));
        else kept = under(order, i) * spec_ratio_order_excess(order, 1) / (order->V - 1); /* it is all of the draft */
        spec_compensated_add(&drafted, over(order, i) * order->draft[i]);
    }
    return with_kept(order, kept + spec_compensated_value(&odds) * spec_compensated_value(&drafted));
}

double spec_naive_tree_hub_acceptance(const spec_ratio_order *order, int n)
{
    if (!defined(order, n) || n > 2) return NAN;
    if (n == 1 || order->V == 1) return spec_ratio_order_common(order, 1);
    int hub = 0;
    for (int i = 1; i < order->V; i++)
        if (order->draft[i] > order->draft[hub] ||
            (order->draft[i] == order->draft[hub] && order->token[i] < order->token[hub]))
            hub = i;
    spec_compensated missed = {0}, drafted = {0};
    const double left = others(order, hub), even = 1.0 / (order->V - 1);
    for (int i = 0; i < order->V; i++) {
        if (i == hub) continue;
        spec_compensated_add(&missed, under(order, i));
        spec_compensated_add(&drafted, over(order, i) * (left > 0 ? order->draft[i] / left : even));
    }
    return with_kept(order, over(order, hub) * spec_compensated_value(&missed) +
                                under(order, hub) * spec_compensated_value(&drafted));
}
