/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/ratio_order.h"

#include "analysis/law.h"
#include "analysis/statistics/compensated.h"
#include "speclab/status.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t undrafted =
    (uint64_t)1 << 63; /* above the bits of every positive double, infinity included */

int spec_ratio_order_init(spec_ratio_order *order, int V)
{
    memset(order, 0, sizeof *order);
    if (V < 1) return GSL_EDOM;
    size_t n = (size_t)V + 1;
    order->token = calloc(n, sizeof *order->token);
    order->items = calloc(n, 2 * sizeof *order->items);
    order->target = calloc(n, 8 * sizeof *order->target); /* eight rows in one block */
    if (order->token == NULL || order->items == NULL || order->target == NULL) {
        spec_ratio_order_free(order);
        return GSL_ENOMEM;
    }
    order->V = V;
    order->draft = order->target + n;
    order->ratio = order->draft + n;
    order->target_below = order->ratio + n;
    order->draft_below = order->target_below + n;
    order->target_above = order->draft_below + n;
    order->draft_above = order->target_above + n;
    order->work = order->draft_above + n;
    return GSL_SUCCESS;
}

void spec_ratio_order_free(spec_ratio_order *order)
{
    free(order->token);
    free(order->items);
    free(order->target);
    memset(order, 0, sizeof *order);
}

/* Returns the compensated sum of a row (n); NaN if an entry is negative or NaN. */
static double row_sum(const double *row, int n)
{
    spec_compensated sum = {0};
    for (int x = 0; x < n; x++) spec_compensated_add(&sum, row[x] >= 0 ? row[x] : NAN);
    return spec_compensated_value(&sum);
}

/* Returns the bits of x: for doubles >= 0 they have the same order. Adding 0 turns a negative zero,
 * whose sign bit is set, into zero. */
static uint64_t bits_of(double x)
{
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Sorts items (n) by key; equal keys keep their order; other (n) is workspace. Returns the array
 * that holds the result. */
static spec_ratio_item *radix_sort(spec_ratio_item *items, spec_ratio_item *other, int n)
{
    for (int shift = 0; shift < 64; shift += 8) {
        int start[257] = {0};
        for (int i = 0; i < n; i++) start[(items[i].key >> shift & 255) + 1]++;
        if (start[(items[0].key >> shift & 255) + 1] == n)
            continue; /* all keys have the same byte here */
        for (int byte = 0; byte < 256; byte++) start[byte + 1] += start[byte];
        for (int i = 0; i < n; i++) other[start[items[i].key >> shift & 255]++] = items[i];
        spec_ratio_item *swap = items;
        items = other;
        other = swap;
    }
    return items;
}

/* Fills below[i] and above[i] (n+1): sums over the first i entries of a row (n) and over the
 * others. */
static void running_sums(double *below, double *above, const double *row, int n)
{
    spec_compensated sum = {0};
    below[0] = 0;
    for (int i = 0; i < n; i++) {
        spec_compensated_add(&sum, row[i]);
        below[i + 1] = spec_compensated_value(&sum);
    }
    sum = (spec_compensated){0};
    above[n] = 0;
    for (int i = n - 1; i >= 0; i--) {
        spec_compensated_add(&sum, row[i]);
        above[i] = spec_compensated_value(&sum);
    }
}

int spec_ratio_order_sort(spec_ratio_order *order, const double *target, const double *draft)
{
    int V = order->V;
    double target_sum = row_sum(target, V), draft_sum = row_sum(draft, V);
    order->sorted = spec_law_is_whole(target_sum) && spec_law_is_whole(draft_sum);
    if (!order->sorted) return GSL_EDOM;

    for (int x = 0; x < V; x++) {
        double t = target[x] / target_sum, d = draft[x] / draft_sum;
        order->items[x] = (spec_ratio_item){d > 0 ? bits_of(t / d) : bits_of(t) | undrafted, x};
    }
    const spec_ratio_item *items = radix_sort(order->items, order->items + V, V);
    order->n_drafted = 0;
    for (int i = 0; i < V; i++) {
        int x = items[i].token;
        order->token[i] = x;
        order->target[i] = target[x] / target_sum;
        order->draft[i] = draft[x] / draft_sum;
        order->ratio[i] = order->draft[i] > 0 ? order->target[i] / order->draft[i] : INFINITY;
        if (order->draft[i] > 0) order->n_drafted++;
    }
    running_sums(order->target_below, order->target_above, order->target, V);
    running_sums(order->draft_below, order->draft_above, order->draft, V);
    return GSL_SUCCESS;
}

int spec_ratio_order_count(const spec_ratio_order *order, double scale)
{
    int low = 0,
        high = order->V; /* tokens before low have a smaller ratio, tokens from high on do not */
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (order->ratio[middle] < scale) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

double spec_ratio_order_common(const spec_ratio_order *order, double scale)
{
    if (!order->sorted || !(scale >= 0)) return NAN;
    scale = fmin(scale, DBL_MAX); /* infinity times 0 would be NaN */
    int i = spec_ratio_order_count(order, scale);
    return fmin(1, order->target_below[i] + scale * order->draft_above[i]);
}

double spec_ratio_order_residual(const spec_ratio_order *order, double scale)
{
    if (!order->sorted || !(scale >= 0)) return NAN;
    scale = fmin(scale, DBL_MAX);
    int i = spec_ratio_order_count(order, scale);
    return fmax(0, order->target_above[i] - scale * order->draft_above[i]);
}
