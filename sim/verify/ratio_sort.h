/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ratio_sort: sorts tokens by target/draft, for the rules that need that order.
 * Ratios are not negative and may be infinite; equal ratios keep their order. The caller owns the
 * entries, and the equally large workspace after them. */
#ifndef SPECLAB_RATIO_SORT_H
#define SPECLAB_RATIO_SORT_H

typedef struct {
    double ratio;
    int token;
} spec_ratio_entry;

/* Sorts the first n of 2n entries, ascending; returns the half that holds the result. Takes O(n):
 * it is a radix sort that skips bytes that are equal in all entries, or an insertion sort if there
 * are only a few. */
spec_ratio_entry *spec_ratio_sort(spec_ratio_entry *entries, int n);

#endif
