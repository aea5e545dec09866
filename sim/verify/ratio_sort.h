/* ratio_sort: tokens in the order of target/draft, for the rules that need it.
 * Ratios are not negative, and may be infinite; equal ones keep their order. The caller owns the entries, and as many
 * again behind them for the sort to work in. */
#ifndef SPECLAB_RATIO_SORT_H
#define SPECLAB_RATIO_SORT_H

typedef struct {
    double ratio;
    int token;
} spec_ratio_entry;

/* Sort the first n of 2n entries, ascending; returns the half in which the result is. O(n): by bytes, those that all
 * share passed over; a few entries by insertion. */
spec_ratio_entry *spec_ratio_sort(spec_ratio_entry *entries, int n);

#endif
