/* float_rows_kernels: cumulative sums of float rows in blocks, in one fixed order; internal to sim/float_rows*.
 * A block of 64 is added up in 8 double lanes, lane l taking x[l], x[8+l], ..., x[56+l] in turn; then lanes 4 apart, 2
 * apart and 1 apart are added; then the block joins the sum of those before it. All instruction sets do just that. */
#ifndef SPECLAB_FLOAT_ROWS_KERNELS_H
#define SPECLAB_FLOAT_ROWS_KERNELS_H

#include "sim/verify/float_rows.h"

#include <stddef.h>

enum { SPEC_FLOAT_BLOCK = 64 };

/* Add blocks 0, 1, ..., N-1 to *sum, and stop before the first that would take it above `limit`. Returns that block, or
 * N.
 *   row, target, draft   (N * 64) floats
 *   _row adds row[i]; _residual adds max(0, target[i] - draft[i]), the difference taken in double. */
struct spec_float_rows_kernels {
    size_t (*row)(double *sum, const float *row, size_t N, double limit);
    size_t (*residual)(double *sum, const float *target, const float *draft, size_t N, double limit);
};

extern const spec_float_rows_kernels spec_float_rows_kernels_ref, spec_float_rows_kernels_avx2,
    spec_float_rows_kernels_avx512;

/* The first token of positive mass at which the cumulative mass of `row` (n), or of the residual where opt_draft is not
 * NULL, passes `limit`; the last one of positive mass where none does, -1 where there is none. */
int spec_float_rows_find(const spec_float_rows_kernels *kernels, const float *row, const float *opt_draft, int n,
                         double limit);

/* The sum that _find runs through, of all n tokens. */
double spec_float_rows_total(const spec_float_rows_kernels *kernels, const float *row, const float *opt_draft, int n);

#endif
