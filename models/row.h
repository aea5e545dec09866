/* row: arithmetic on rows, the (V) arrays of probabilities that models return.
 * Sums are compensated, so that a row of a million tokens is normalised as well as one of two. The caller owns the
 * rows. */
#ifndef SPECLAB_ROW_H
#define SPECLAB_ROW_H

/* The sum of n values >= 0, accurate to about 16 units in the last place whatever n is. */
double spec_row_sum(const double *value, int n);

/* Divide n weights by their sum, which must be positive and finite. */
void spec_row_normalise(double *weight, int n);

/* sum_i min(a_i, b_i): the chance that the token rule accepts, if one row is the target's and the other the draft's. */
double spec_row_overlap(const double *a, const double *b, int n);

/* The index of the largest, smallest value: the lowest among ties. */
int spec_row_argmax(const double *value, int n);
int spec_row_argmin(const double *value, int n);

/* The indices of the k largest values into ret_index, the largest first, the lowest first among ties; returns how many:
 * n where that is less than k. One pass, O(n + k^2 log n) on values in no order. */
int spec_row_largest(int *ret_index, int k, const double *value, int n);

/* The indices of the values of at least `least`, ascending, into ret_index, which has room for n; returns how many. */
int spec_row_above(int *ret_index, const double *value, int n, double least);

#endif
