#include "analysis/optimal.h"

#include "analysis/compensated.h"

#include <gsl/gsl_sf_pow_int.h>
#include <math.h>

static bool defined(const spec_ratio_order *order, int n)
{
    return order->sorted && n >= 1 && n <= SPEC_DRAFTS_MAX;
}

double spec_optimal_iid(const spec_ratio_order *order, int n)
{
    if (!defined(order, n)) return NAN;
    double least = 0; /* of the empty set */
    for (int i = 1; i <= order->n_drafted; i++) {
        least = fmin(least, order->target_below[i] - gsl_sf_pow_int(order->draft_below[i], n));
    }
    return 1 + least;
}

/* ---- without replacement ----------------------------------------------------------------------------------------- */

/* Draft probability of all tokens but entry i, without cancellation. */
static double others(const spec_ratio_order *order, int i)
{
    return order->draft_below[i] + order->draft_above[i + 1];
}

/* The chances of every prefix (V+1) but the empty one for two drafts. Token x first and then another of H has chance
 * draft(x) (draft(H) - draft(x)) / (1 - draft(x)) = draft(x) (1 - draft(outside H) / (1 - draft(x))). */
static void prefix_chances_of_two(double *ret_inside, const spec_ratio_order *order)
{
    spec_compensated odds = {0};
    for (int i = 0; i < order->V; i++) {
        spec_compensated_add(&odds, order->draft[i] / others(order, i));
        ret_inside[i + 1] = order->draft_below[i + 1] - order->draft_above[i + 1] * spec_compensated_value(&odds);
    }
}

/* Add one node of the integral to the chances of every prefix (V+1): at time s the next token outside the prefix rings
 * while fewer than n of the prefix have. exactly[k] is the chance that k of the prefix have rung. */
static void add_node(double *inside, const spec_ratio_order *order, int n, double s, double weight)
{
    double exactly[SPEC_DRAFTS_MAX] = {1};
    for (int i = 0; i < order->n_drafted; i++) {
        double silent = exp(-order->draft[i] * s), rung = -expm1(-order->draft[i] * s), fewer = 0;
        for (int k = n - 1; k > 0; k--) {
            exactly[k] = exactly[k] * silent + exactly[k - 1] * rung;
            fewer += exactly[k];
        }
        exactly[0] *= silent;
        fewer += exactly[0];
        if (fewer < 1e-17) break; /* and it falls with the prefix */
        double outside = order->draft_above[i + 1];
        inside[i + 1] -= weight * outside * exp(-outside * s) * fewer;
    }
}

void spec_optimal_prefix_chances(double *ret_inside, const spec_ratio_order *order, int n)
{
    bool possible = defined(order, n) && n < order->n_drafted;
    for (int i = 0; i <= order->V; i++) ret_inside[i] = possible ? 1 : NAN;
    if (!possible) return;
    ret_inside[0] = 0;
    /* s = exp(t - exp(-t)) by the trapezoid rule: the integrand falls doubly exponentially at the lower end, and beyond
     * 50 over the smallest mass outside a prefix, which is the last token's, at the upper one. */
    double last = fmin(700, log(50) - log(order->draft[order->n_drafted - 1]));
    double step = n <= 6 ? 0.2 : n <= 24 ? 0.125 : 0.0625; /* each leaves an error near 1e-15 at its largest n */
    for (int j = (int)(-4 / step); j * step < last; j++) {
        double t = j * step, s = exp(t - exp(-t));
        add_node(ret_inside, order, n, s, step * s * (1 + exp(-t)));
    }
}

/* The most that is accepted where the draft's tokens are all drawn and the others follow evenly. */
static double optimal_after_all(const spec_ratio_order *order, int n)
{
    int first = order->n_drafted, n_even = order->V - first, n_left = n - first;
    double least = 0;
    for (int j = 0; j <= n_even; j++) { /* the prefix has all that the draft can draw and j of the others */
        double inside = 1;
        for (int k = 0; k < n_left; k++) inside *= fmax(0, j - k) / (n_even - k);
        least = fmin(least, order->target_below[first + j] - inside);
    }
    return 1 + least;
}

double spec_optimal_without_replacement(const spec_ratio_order *order, int n)
{
    if (!defined(order, n)) return NAN;
    if (n >= order->V) return 1;
    if (n == 1) return spec_ratio_order_common(order, 1);
    if (n >= order->n_drafted) return optimal_after_all(order, n);
    if (n == 2) {
        prefix_chances_of_two(order->work, order);
    } else {
        spec_optimal_prefix_chances(order->work, order, n);
    }
    double least = 0;
    for (int i = n; i <= order->n_drafted; i++) least = fmin(least, order->target_below[i] - order->work[i]);
    return 1 + least;
}
