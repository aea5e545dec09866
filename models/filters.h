/* SPDX-License-Identifier: GPL-3.0-or-later */
/* filters: applies top_k, top_p and min_p to a row.
 * A filter keeps the tokens up to a cut, in order of probability (ties: lowest id). Instead of
 * sorting the row, we pass over it a few times to find the few tokens near the cut. The result
 * equals that of a full sort, bit for bit. */
#ifndef SPECLAB_FILTERS_H
#define SPECLAB_FILTERS_H

#include <stdbool.h>

typedef struct {
    int top_k;    /* keep the k most probable; ties with the k-th stay; 0 keeps all */
    double top_p; /* keep the fewest tokens, most probable first (ties: lowest id), whose mass is >=
                     top_p; 1 keeps all */
    double min_p; /* keep tokens of probability >= min_p * max; 0 keeps all */
    bool chained; /* renormalise after each filter, instead of once after all */
} spec_filters;

/* Applies top_k, top_p and min_p to `row` (V, normalised) in place, and renormalises what is left
 * if a token was removed. `order` (V) is workspace. */
void spec_filters_apply(double *row, int vocab, const spec_filters *filters, int *order);

#endif
