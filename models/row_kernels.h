/* SPDX-License-Identifier: GPL-3.0-or-later */
/* row_kernels: the loops of models/row.h, in a version for each instruction set.
 * All of them return the same bits. For row.c and its test. */
#ifndef SPECLAB_ROW_KERNELS_H
#define SPECLAB_ROW_KERNELS_H

typedef int spec_row_above_kernel(int *ret_index, const double *value, int n, double least);

spec_row_above_kernel spec_row_above_ref, spec_row_above_avx2, spec_row_above_avx512,
    spec_row_above_neon;

#endif
