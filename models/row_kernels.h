/* row_kernels: loops of models/row.h for one instruction set each. All have the same results; for row.c and its
 * test. */
#ifndef SPECLAB_ROW_KERNELS_H
#define SPECLAB_ROW_KERNELS_H

typedef int spec_row_above_kernel(int *ret_index, const double *value, int n, double least);

spec_row_above_kernel spec_row_above_ref, spec_row_above_avx2, spec_row_above_avx512;

#endif
