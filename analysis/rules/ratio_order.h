/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ratio_order: two distributions sorted by target/draft, with sums over every prefix.
 * The acceptance with several drafts, and the best acceptance, are sums over such prefixes. So sort
 * a pair of rows once, then call the functions of multi_draft and optimal. Only one thread at a
 * time may use an order. */
#ifndef SPECLAB_RATIO_ORDER_H
#define SPECLAB_RATIO_ORDER_H

#include <gsl/gsl_errno.h>
#include <stdbool.h>
#include <stdint.h>

/* Maximum drafts at one position. */
enum { SPEC_DRAFTS_MAX = 64 };

/* A key and its token, for the sort. */
typedef struct {
    uint64_t key;
    int token;
} spec_ratio_item;

typedef struct {
    int V;         /* number of tokens */
    int n_drafted; /* number of tokens with draft > 0; they come first */
    bool sorted; /* false until a sort succeeds; until then every function of an order returns
                  * NaN */
    /* (V) ascending by target/draft, ties by token; then tokens with draft = 0, by target, ties by
     * token */
    int *token;
    double *target, *draft; /* (V) the two rows in this order, each divided by its sum */
    double *ratio;          /* (V) target/draft; +inf where draft = 0 */
    double *target_below, *draft_below; /* (V+1) sums over the first i tokens */
    double *target_above, *draft_above; /* (V+1) sums over the other tokens */
    double *work;                       /* (V+1) workspace of the functions that say so */
    spec_ratio_item *items;             /* (2V) workspace of the sort */
} spec_ratio_order;

/* Allocates memory for rows of V tokens. Returns GSL_EDOM for V < 1, or GSL_ENOMEM. A zeroed order
 * may be freed. */
int spec_ratio_order_init(spec_ratio_order *order, int V);
void spec_ratio_order_free(spec_ratio_order *order);

/* Sorts a pair of rows (V), which are copied.
 *   returns GSL_SUCCESS; GSL_EDOM if a row has a negative or NaN entry or its sum is off 1 by more
 *           than 1e-9: then `sorted` is false
 * O(V): a radix sort of at most eight passes. Sums are compensated. */
int spec_ratio_order_sort(spec_ratio_order *order, const double *target, const double *draft);

/* Return how much target and `scale` times draft have in common, and the sum of the residual.
 *
 *     common = sum_x min(target(x), scale draft(x))
 *     residual = sum_x (target(x) - scale draft(x))+ = 1 - common
 *
 *   scale   >= 0; +inf counts as the largest double
 *   returns a number in [0,1]: common to 1e-15 relative, residual to 1e-15 absolute. NaN outside
 *           the domain
 * O(log V). common(1) is the overlap. Checked by: the sum over the rows. */
double spec_ratio_order_common(const spec_ratio_order *order, double scale);
double spec_ratio_order_residual(const spec_ratio_order *order, double scale);

/* Returns the draft probability of all tokens but entry i of the order, without cancellation. */
static inline double spec_ratio_order_others(const spec_ratio_order *order, int i)
{
    return order->draft_below[i] + order->draft_above[i + 1];
}

/* Returns whether the functions of n drafts are defined: the order must be sorted and n in
 * 1..SPEC_DRAFTS_MAX. */
static inline bool spec_ratio_order_defined(const spec_ratio_order *order, int n)
{
    return order->sorted && n >= 1 && n <= SPEC_DRAFTS_MAX;
}

/* Returns the number of tokens with target/draft < scale: the prefix on which the scaled draft
 * exceeds the target. */
int spec_ratio_order_count(const spec_ratio_order *order, double scale);

#endif
