/* SPDX-License-Identifier: GPL-3.0-or-later */
/* transport: selects one token from n iid drafts in the best way, by optimal transport.
 * Any selection is lossless if the token rule tests the selected token with its chance of being
 * selected in place of its draft probability. No rule accepts more than the best selection does
 * [Khisti25]. Tokens are sorted by target/draft, and knot k is the prefix of the first k tokens.
 * The transport owns its arrays. docs/formulas/rules.md#transport. */
#ifndef SPECLAB_TRANSPORT_H
#define SPECLAB_TRANSPORT_H

#include "sim/chance/chance.h"
#include "sim/verify/ratio_sort.h"

typedef struct {
    int vocab;
    int n_drafted;          /* number of tokens with draft > 0; the others are not in the order */
    int *token;             /* (V) by target/draft ascending, equal ratios by token */
    int *place;             /* (V) index of a token in that order */
    double *target, *draft; /* (V) the rows in this order; the draft's sums to 1 */
    double *target_below, *draft_below; /* (V+1) sums over a prefix */
    double *draft_above;                /* (V+1) sums over the tokens outside a prefix */
    double *inside;   /* (V+1) chance that all drafts are in a prefix: convex over draft_below */
    double *law;      /* (V) chance that a token is selected, in this order */
    double *selected; /* (V+1) sums of `law` over a prefix: convex too, and never below `inside` */
    int cut;          /* the prefix that attains the optimum, where `selected` equals `inside` */
    int *hull;        /* (V+1) workspace */
    spec_ratio_entry *items; /* (2V) workspace of the sort */
} spec_transport;

int spec_transport_init(spec_transport *transport, int vocab, spec_error *error); /* GSL_ENOMEM */
void spec_transport_free(spec_transport *transport);

/* Sorts a pair of rows (V). O(V). */
void spec_transport_sort(spec_transport *transport, const double *target, const double *row);

/* Computes the optimal law r for n iid drafts from the sorted pair. Its acceptance, sum min(target,
 * r), is the optimum 1 + min over prefixes of target - inside. O(V). */
void spec_transport_solve(spec_transport *transport, int n);

/* Returns the chance that this law selects a token. */
double spec_transport_law(const spec_transport *transport, int token);

/* Selects one of n iid drafted tokens, with this law. Makes one decision. weight (n) and tokens (n)
 * are workspace; tokens holds the drafted ones and is sorted. Takes a few passes of O(V), at most
 * n. */
int spec_transport_select(const spec_transport *transport, int *tokens, int n, double *weight,
                          spec_chance *chance);

#endif
