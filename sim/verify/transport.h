/* transport: the best law of one token selected from n drafts, and how to select it.
 * To select a token from those drafted and to judge it by the token rule, against the law that it was selected with, is
 * lossless for every way to select, and no rule does better than the best of them [Khisti25]. Tokens stand in the order
 * of target/draft; a knot k is the prefix of the first k. The transport owns its arrays. docs/formulas.md#transport. */
#ifndef SPECLAB_TRANSPORT_H
#define SPECLAB_TRANSPORT_H

#include "sim/chance/chance.h"
#include "sim/verify/ratio_sort.h"

typedef struct {
    int vocab;
    int n_drafted;          /* tokens with draft > 0; the others are in no order and have no place */
    int *token;             /* (V) by target/draft ascending, equal ratios by token */
    int *place;             /* (V) of a token, where it stands in that order */
    double *target, *draft; /* (V) the rows in this order; the draft's sums to 1 */
    double *target_below, *draft_below; /* (V+1) sums over a prefix */
    double *draft_above;                /* (V+1) over what is not in it */
    double *inside;         /* (V+1) the chance that all drafts are in a prefix: convex over draft_below */
    double *law;            /* (V) the chance that a token is selected, in this order, */
    double *selected;       /* (V+1) and its sums over a prefix: convex too, and nowhere below `inside` */
    int cut;                /* the prefix that attains the optimum; there the two are equal */
    int *hull;              /* (V+1) scratch */
    spec_ratio_entry *items; /* (2V) scratch of the sort */
} spec_transport;

int spec_transport_init(spec_transport *transport, int vocab, spec_error *error); /* GSL_ENOMEM */
void spec_transport_free(spec_transport *transport);

/* Sort a pair of rows (V). O(V). */
void spec_transport_sort(spec_transport *transport, const double *target, const double *row);

/* The best law for n iid drafts, from the sorted pair: what is selected from them with law r is accepted with chance
 * sum min(target, r), and that is the optimum 1 + min over prefixes of target - inside. O(V). */
void spec_transport_solve(spec_transport *transport, int n);

/* The chance of that law to select a token. */
double spec_transport_law(const spec_transport *transport, int token);

/* Select one of n tokens drafted iid, so that it has that law. One decision. weight (n) and tokens (n) are workspace;
 * tokens comes in as the drafted ones and is sorted. O(V) for each of a few passes, at most n tries. */
int spec_transport_select(const spec_transport *transport, int *tokens, int n, double *weight, spec_chance *chance);

#endif
