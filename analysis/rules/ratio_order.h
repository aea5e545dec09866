/* ratio_order: two distributions over one vocabulary, sorted by target/draft, with sums over every prefix of that
 * order. What several drafts accept, and what they could accept, are sums over such prefixes: sort once for each pair
 * of rows, then ask the functions of multi_draft and optimal. One order serves one thread at a time. */
#ifndef SPECLAB_RATIO_ORDER_H
#define SPECLAB_RATIO_ORDER_H

#include <gsl/gsl_errno.h>
#include <stdbool.h>
#include <stdint.h>

/* A key and where it came from, for the sort. */
typedef struct {
    uint64_t key;
    int token;
} spec_ratio_item;

typedef struct {
    int V;                  /* tokens */
    int n_drafted;          /* tokens with draft > 0; they come first */
    bool sorted;            /* false until a sort succeeds: then every function of an order gives NaN */
    int *token;             /* (V) target/draft ascending, equal ratios by token; then draft = 0, by target, by token */
    double *target, *draft; /* (V) the two rows in this order, each divided by its sum */
    double *ratio;          /* (V) target/draft; +inf where draft = 0 */
    double *target_below, *draft_below; /* (V+1) sums over the first i tokens */
    double *target_above, *draft_above; /* (V+1) sums over the others */
    double *work;                       /* (V+1) scratch of the functions that say so */
    spec_ratio_item *items;             /* (2V) scratch of the sort */
} spec_ratio_order;

/* Room for rows of V tokens. GSL_EDOM for V < 1; GSL_ENOMEM. A zeroed order may be freed. */
int spec_ratio_order_init(spec_ratio_order *order, int V);
void spec_ratio_order_free(spec_ratio_order *order);

/* Sort a pair of rows (V), which are copied.
 *   returns GSL_SUCCESS; GSL_EDOM where a row has a negative or NaN entry or is off 1 by more than 1e-9: then `sorted`
 *           is false.
 * O(V): a radix sort of at most eight passes. Sums are compensated. */
int spec_ratio_order_sort(spec_ratio_order *order, const double *target, const double *draft);

/* What target and `scale` drafts have in common, and what target has beyond them.
 *
 *     common = sum_x min(target(x), scale draft(x)),     excess = sum_x (target(x) - scale draft(x))+ = 1 - common
 *
 *   scale   >= 0; +inf counts as the largest double
 *   returns a number in [0,1]: common right to 1e-15 relative, excess to 1e-15 absolute. NaN outside the domain.
 * O(log V). common(1) is the overlap. Checked by: the sum over the rows. */
double spec_ratio_order_common(const spec_ratio_order *order, double scale);
double spec_ratio_order_excess(const spec_ratio_order *order, double scale);

/* How many tokens have target/draft < scale: the prefix whose target the scaled draft exceeds. */
int spec_ratio_order_count(const spec_ratio_order *order, double scale);

#endif
