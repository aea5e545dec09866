/* SPDX-License-Identifier: GPL-3.0-or-later */
/* transport_sets: the optimal plan for n siblings without replacement, by maximum flow.
 * Only for small vocabularies. For every set of n tokens the plan gives the chance to select each
 * token, and then the law of the selected token over all sets. We compute this law from the
 * selection itself, so rounding of the flow does not matter. The last few plans are cached.
 * docs/formulas/rules.md#transport. */
#ifndef SPECLAB_TRANSPORT_SETS_H
#define SPECLAB_TRANSPORT_SETS_H

#include "speclab/status.h"

#include <stdint.h>

enum { SPEC_TRANSPORT_SETS_VOCAB = 10, SPEC_TRANSPORT_SETS_KEPT = 4 };

typedef struct {
    int n;                /* 0: empty */
    double *target, *row; /* (V) the rows of the plan */
    double *share; /* (2^V, V) chance of each token, given a set of n tokens (one bit each); sums to
                    * 1 */
    double *law;   /* (V) law of the selected token */
} spec_transport_plan;

typedef struct {
    int vocab; /* 1..SPEC_TRANSPORT_SETS_VOCAB */
    int next;  /* the plan to replace next */
    double *store;
    double *chance; /* (2^V) chance of a set, workspace */
    /* Workspace of the flow. At most 2^(V-1) sets have n tokens. */
    uint32_t *set;           /* (2^(V-1)) the sets of n tokens */
    uint64_t *supply, *flow; /* (2^(V-1)); (2^(V-1), V) */
    spec_transport_plan plan[SPEC_TRANSPORT_SETS_KEPT];
} spec_transport_sets;

int spec_transport_sets_init(spec_transport_sets *sets, int vocab,
                             spec_error *error); /* GSL_ENOMEM */
void spec_transport_sets_free(spec_transport_sets *sets);

/* Returns the plan for 1 <= n < V siblings drawn without replacement from `row`; valid until the
 * fourth call after this one. */
const spec_transport_plan *spec_transport_sets_plan(spec_transport_sets *sets, const double *target,
                                                    const double *row, int n);

#endif
