/* SPDX-License-Identifier: GPL-3.0-or-later */
/* water_fill: finds the row that overlaps the most with several target rows at once.
 * An independent block draft has one row for all predecessors; this row is accepted most often. The
 * caller owns rows and workspace. */
#ifndef SPECLAB_WATER_FILL_H
#define SPECLAB_WATER_FILL_H

/* A stretch of one token's probability within which each unit of mass gains `slope`. */
typedef struct {
    double slope, length;
    int token;
} spec_water_segment;

/* Fills ret_row (V) with the normalised row d that maximises
 *
 *     sum_s weight_s sum_x min(target_s(x), d(x)).
 *
 * The sum for a token is concave and piecewise linear in d(x), with slope P(target_s(x) > d(x)). So
 * the segments of all tokens are taken in order of decreasing slope until the row sums to 1.
 *
 *   target    (n) rows (V)
 *   weight    (n) above 0; their scale does not matter
 *   segment   (n V) workspace
 * Among segments of equal slope, the lowest token comes first. A single target row is returned bit
 * for bit. O(n V log n) on average. */
void spec_water_fill(double *ret_row, const double *const *target, const double *weight, int n,
                     int vocab, spec_water_segment *segment);

#endif
