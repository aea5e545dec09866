/* transport_sets: the optimal plan for n siblings without replacement in a small vocabulary, by linear programming.
 * For every set of n tokens it says which of them to select, and with what law over all sets. Whatever the solver's
 * tolerance, that law is summed from the selection itself. The last plans are kept. docs/formulas.md#transport. */
#ifndef SPECLAB_TRANSPORT_SETS_H
#define SPECLAB_TRANSPORT_SETS_H

#include "speclab/status.h"

enum { SPEC_TRANSPORT_SETS_VOCAB = 10, SPEC_TRANSPORT_SETS_KEPT = 4 };

typedef struct {
    int n;                /* 0: not made yet */
    double *target, *row; /* (V) what it was made for */
    double *share;        /* (2^V, V) how often a token is selected of a set, one bit a token: sums to 1 */
    double *law;          /* (V) of the selected token */
} spec_transport_plan;

typedef struct {
    int vocab;    /* 1..SPEC_TRANSPORT_SETS_VOCAB */
    int next;     /* the plan to be made anew */
    double *store;
    double *chance; /* (2^V) of a set, scratch */
    spec_transport_plan plan[SPEC_TRANSPORT_SETS_KEPT];
} spec_transport_sets;

int spec_transport_sets_init(spec_transport_sets *sets, int vocab, spec_error *error); /* GSL_ENOMEM */
void spec_transport_sets_free(spec_transport_sets *sets);

/* The plan for 1 <= n < V siblings drawn without replacement from `row`; it is good until the fourth call after. */
const spec_transport_plan *spec_transport_sets_plan(spec_transport_sets *sets, const double *target, const double *row,
                                                    int n);

#endif
