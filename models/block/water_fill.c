/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/block/water_fill.h"

#include "models/row.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int by_token(const void *left, const void *right)
{
    const spec_water_segment *a = left, *b = right;
    return a->token < b->token ? -1 : a->token > b->token;
}

/* While we make a token's segments, `length` holds a target's probability and `slope` its
 * weight. */
static int by_probability(const void *left, const void *right)
{
    const spec_water_segment *a = left, *b = right;
    return a->length > b->length ? -1 : a->length < b->length;
}

/* Writes the segments of one token; returns their number. It goes through the probabilities in
 * decreasing order, so that slopes are sums of weights and never differences. */
static int cut(spec_water_segment *segment, const double *const *target, const double *weight,
               int n, int token)
{
    int used = 0;
    for (int s = 0; s < n; s++)
        if (target[s][token] > 0.0)
            segment[used++] = (spec_water_segment){
                .slope = weight[s], .length = target[s][token], .token = token};
    if (used > 1) qsort(segment, (size_t)used, sizeof *segment, by_probability);
    double slope = 0.0;
    for (int s = 0; s < used; s++) {
        slope += segment[s].slope;
        segment[s].slope = slope;
        segment[s].length -= s + 1 < used ? segment[s + 1].length : 0.0;
    }
    return used;
}

static void swap(spec_water_segment *a, spec_water_segment *b)
{
    const spec_water_segment kept = *a;
    *a = *b;
    *b = kept;
}

/* Orders n segments: first the *ret_above with a larger slope than the middle one, then the
 * *ret_equal with the same slope, then the rest. */
static void divide(size_t *ret_above, size_t *ret_equal, spec_water_segment *segment, size_t n)
{
    const double slope = segment[n / 2].slope;
    size_t above = 0, below = n;
    for (size_t i = 0; i < below;)
        if (segment[i].slope > slope)
            swap(&segment[i++], &segment[above++]);
        else if (segment[i].slope < slope)
            swap(&segment[i], &segment[--below]);
        else
            i++;
    *ret_above = above;
    *ret_equal = below - above;
}

static double length_of(const spec_water_segment *segment, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += segment[i].length;
    return sum;
}

/* Takes segments in order until no mass is missing; returns how much is still missing at the
 * end. */
static double pour(double *row, const spec_water_segment *segment, size_t n, double missing)
{
    for (size_t i = 0; i < n && missing > 0.0; i++) {
        const double length = fmin(segment[i].length, missing);
        row[segment[i].token] += length;
        missing -= length;
    }
    return missing;
}

void spec_water_fill(double *ret_row, const double *const *target, const double *weight, int n,
                     int vocab, spec_water_segment *segment)
{
    size_t used = 0, above, equal;
    double missing = 1.0;
    if (n == 1) {
        memcpy(ret_row, target[0], (size_t)vocab * sizeof *ret_row);
        return;
    }
    for (int x = 0; x < vocab; x++) {
        used += (size_t)cut(segment + used, target, weight, n, x);
        ret_row[x] = 0.0;
    }
    /* Finds by quickselect the slope at which the row is full, without sorting all segments. */
    while (used > 0 && missing > 0.0) {
        divide(&above, &equal, segment, used);
        if (length_of(segment, above) >= missing) {
            used = above;
            continue;
        }
        missing = pour(ret_row, segment, above, missing);
        qsort(segment + above, equal, sizeof *segment, by_token);
        missing = pour(ret_row, segment + above, equal, missing);
        segment += above + equal;
        used -= above + equal;
    }
    spec_row_normalise(ret_row, vocab);
}
