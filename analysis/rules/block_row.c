/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/block_row.h"

#include "analysis/statistics/compensated.h"

#include <stdlib.h>

/* A remaining probability below this is only rounding, because the rows of the targets may fill the
 * draft's row exactly. */
static const double rounding = 1e-14;

/* Returns weight(s) gain(s, x). */
static double weight_of(const spec_block_row_set *rows, size_t s, size_t x)
{
    return rows->weight[s] * (rows->opt_gain == NULL ? 1.0 : rows->opt_gain[s * rows->V + x]);
}

double spec_block_row_worth(const spec_block_row_set *rows, const double *draft)
{
    spec_compensated total = {0};
    for (size_t s = 0; s < rows->S; s++) {
        const double *target = rows->target + s * rows->V;
        for (size_t x = 0; x < rows->V; x++) {
            const double least = target[x] < draft[x] ? target[x] : draft[x];
            spec_compensated_add(&total, weight_of(rows, s, x) * least);
        }
    }
    return spec_compensated_value(&total);
}

static double mean_of(const spec_block_row_set *rows, size_t x)
{
    spec_compensated mass = {0}, weight = {0};
    for (size_t s = 0; s < rows->S; s++) {
        spec_compensated_add(&mass, rows->weight[s] * rows->target[s * rows->V + x]);
        spec_compensated_add(&weight, rows->weight[s]);
    }
    const double all = spec_compensated_value(&weight);
    return all > 0.0 ? spec_compensated_value(&mass) / all : 0.0;
}

void spec_block_row_mean(double *ret_row, const spec_block_row_set *rows)
{
    for (size_t x = 0; x < rows->V; x++) ret_row[x] = mean_of(rows, x);
}

size_t spec_block_row_one_hot(const spec_block_row_set *rows)
{
    size_t best = 0;
    double most = -1.0;
    for (size_t x = 0; x < rows->V; x++) {
        const double mean = mean_of(rows, x);
        if (mean > most) {
            most = mean;
            best = x;
        }
    }
    return best;
}

/* Orders equal tops by slope, so that sums do not depend on the sort. */
static int lower_top_first(const void *a, const void *b)
{
    const spec_block_step *left = a, *right = b;
    if (left->top != right->top) return left->top < right->top ? -1 : 1;
    return (left->slope > right->slope) - (left->slope < right->slope);
}

static int steeper_first(const void *a, const void *b)
{
    const spec_block_step *left = a, *right = b;
    if (left->slope != right->slope) return left->slope > right->slope ? -1 : 1;
    if (left->token != right->token) return left->token < right->token ? -1 : 1;
    return lower_top_first(a, b);
}

/* Fills the steps of one token. `slope` first holds the weight of each entry, and then the total
 * weight of all entries whose value reaches the step. Returns the number of steps, which is below S
 * if entries are equal or 0. */
static size_t steps_of(spec_block_step *step, const spec_block_row_set *rows, size_t x)
{
    size_t n = 0, kept = 0;
    for (size_t s = 0; s < rows->S; s++) {
        const double top = rows->target[s * rows->V + x];
        if (top > 0.0)
            step[n++] = (spec_block_step){.slope = weight_of(rows, s, x), .top = top, .token = x};
    }
    qsort(step, n, sizeof *step, lower_top_first);
    for (size_t i = n; i-- > 1;) step[i - 1].slope += step[i].slope;
    for (size_t i = 0; i < n; i++) /* the first of several equal entries gets the weight of all of
                                    * them */
        if (kept == 0 || step[i].top > step[kept - 1].top) step[kept++] = step[i];
    return kept;
}

double spec_block_row_best(double *ret_row, double *ret_level, const spec_block_row_set *rows,
                           spec_block_step *work)
{
    size_t n = 0;
    spec_compensated worth = {0}, filled = {0};
    for (size_t x = 0; x < rows->V; x++) {
        ret_row[x] = 0.0;
        n += steps_of(work + n, rows, x);
    }
    qsort(work, n, sizeof *work, steeper_first);
    *ret_level = 0.0;
    for (size_t i = 0; i < n; i++) {
        double *const bottom = &ret_row[work[i].token]; /* a token's steps are in order */
        const double left = 1.0 - spec_compensated_value(&filled), height = work[i].top - *bottom;
        if (left <= rounding) break;
        *ret_level = work[i].slope;
        *bottom = height <= left + rounding ? work[i].top : *bottom + left;
        spec_compensated_add(&filled, height < left ? height : left);
        spec_compensated_add(&worth, work[i].slope * (height < left ? height : left));
    }
    return spec_compensated_value(&worth);
}

double spec_block_row_excess(const spec_block_row_set *rows, const double *draft, double level)
{
    double worst = 0.0;
    for (size_t x = 0; x < rows->V; x++) {
        double above = 0.0, reached = 0.0;
        for (size_t s = 0; s < rows->S; s++) {
            const double target = rows->target[s * rows->V + x], weight = weight_of(rows, s, x);
            if (target > draft[x]) above += weight;
            if (target >= draft[x]) reached += weight;
        }
        if (above - level > worst) worst = above - level;
        if (draft[x] > 0.0 && level - reached > worst) worst = level - reached;
    }
    return worst;
}
