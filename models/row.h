/* SPDX-License-Identifier: GPL-3.0-or-later */
/* row: arithmetic on rows, the V probabilities that models return.
 * Sums are compensated: normalising a row of a million tokens is as accurate as one of two. The
 * caller owns the rows. */
#ifndef SPECLAB_ROW_H
#define SPECLAB_ROW_H

/* Returns the sum of n values >= 0, accurate to about 16 units in the last place for any n. */
double spec_row_sum(const double *value, int n);

/* Divides n weights by their sum, which must be positive and finite. */
void spec_row_normalise(double *weight, int n);

/* Returns sum_i min(a_i, b_i): the token rule's acceptance probability for target and draft
 * rows. */
double spec_row_overlap(const double *a, const double *b, int n);

/* Return the index of the largest and of the smallest value; the lowest index among ties. */
int spec_row_argmax(const double *value, int n);
int spec_row_argmin(const double *value, int n);

/* Writes the indices of the k largest values into ret_index, the largest first, and among ties the
 * lowest index first; returns their number: k, or n if that is less. One pass, O(n + k^2 log n) on
 * values in random order. */
int spec_row_largest(int *ret_index, int k, const double *value, int n);

/* Writes the indices of values >= `least` into ret_index (n), ascending; returns their number. */
int spec_row_above(int *ret_index, const double *value, int n, double least);

#endif
