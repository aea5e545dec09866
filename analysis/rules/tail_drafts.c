/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/tail_drafts.h"

#include "analysis/statistics/compensated.h"

#include <math.h>

/* The tail is in order->work, with -1 for the tokens of B. */
typedef struct {
    int next;                  /* the entry of x_n */
    double target, tail, over; /* target(B), b and U */
} best;

/* Returns the entry outside B with the largest draft probability, among ties that of the lowest
 * token. */
static int largest(const spec_ratio_order *order)
{
    int found = -1;
    for (int i = 0; i < order->V; i++) {
        if (order->work[i] < 0) continue;
        if (found < 0 || order->draft[i] > order->draft[found] ||
            (order->draft[i] == order->draft[found] && order->token[i] < order->token[found]))
            found = i;
    }
    return found;
}

static best split(const spec_ratio_order *order, int n)
{
    for (int i = 0; i < order->V; i++) order->work[i] = order->draft[i];
    best B = {.next = largest(order)};
    const int first = B.next;
    const double rest = spec_ratio_order_others(order, first);
    spec_compensated target = {0}, tail = {0}, over = {0};
    for (int i = 0; i < order->V; i++)
        order->work[i] = i == first ? 0 : rest > 0 ? order->draft[i] / rest : 1.0 / (order->V - 1);
    for (int k = 1; k < n; k++, B.next = largest(order)) {
        double *law = &order->work[B.next];
        spec_compensated_add(&target, order->target[B.next]);
        spec_compensated_add(&tail, *law);
        spec_compensated_add(&over, fmax(0, *law - order->target[B.next]));
        *law = -1;
    }
    B.target = spec_compensated_value(&target);
    B.tail = spec_compensated_value(&tail);
    B.over = spec_compensated_value(&over);
    return B;
}

static bool defined(const spec_ratio_order *order, int n)
{
    return spec_ratio_order_defined(order, n) && n >= 2;
}

double spec_tail_drafts_match(const spec_ratio_order *order, int n)
{
    if (!defined(order, n)) return NAN;
    if (n >= order->V) return 1;
    const best B = split(order, n);
    spec_compensated sum = {0};
    spec_compensated_add(&sum, B.target);
    spec_compensated_add(&sum, B.tail * order->target[B.next]);
    for (int i = 0; i < order->V; i++)
        if (order->work[i] > 0) spec_compensated_add(&sum, order->work[i] * order->target[i]);
    return fmin(1, spec_compensated_value(&sum));
}

/* Returns target(B) plus the sum of min(target, tail) outside B. The tail of x_n is `next`. */
static double kept(const spec_ratio_order *order, const best *B, double next)
{
    spec_compensated sum = {0};
    spec_compensated_add(&sum, B->target);
    for (int i = 0; i < order->V; i++)
        if (order->work[i] >= 0)
            spec_compensated_add(&sum,
                                 fmin(order->target[i], i == B->next ? next : order->work[i]));
    return spec_compensated_value(&sum);
}

double spec_tail_drafts_token(const spec_ratio_order *order, int n)
{
    if (!defined(order, n)) return NAN;
    if (n >= order->V) return 1;
    const best B = split(order, n);
    spec_compensated over = {0};
    spec_compensated_add(&over, B.over);
    for (int i = 0; i < order->V; i++)
        if (order->work[i] > order->target[i])
            spec_compensated_add(&over, order->work[i] - order->target[i]);
    const double under = fmax(0, order->target[B.next] - order->work[B.next]),
                 all = spec_compensated_value(&over);
    return fmin(1, kept(order, &B, order->work[B.next]) + (all > 0 ? under * B.over / all : 0));
}

double spec_tail_drafts_optimum(const spec_ratio_order *order, int n)
{
    if (!defined(order, n)) return NAN;
    if (n >= order->V) return 1;
    const best B = split(order, n);
    return fmin(1, kept(order, &B, order->work[B.next] + B.tail));
}
