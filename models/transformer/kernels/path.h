/* SPDX-License-Identifier: GPL-3.0-or-later */
/* path: sums over the tokens of a path, whose rows are anywhere in a cache.
 * The same loops are compiled for each instruction set, in path_*.c. All results have the same
 * bits: products are fused, and sums have one order. */
#ifndef SPECLAB_PATH_H
#define SPECLAB_PATH_H

#include "base/cpu.h"

/* Both functions compute two results at once, and read n rows (width), whose numbers are in index
 * (n). width is a multiple of 16; n <= SPEC_PATH_MAX. */
enum { SPEC_PATH_MAX = 256 };

typedef struct {
    /* score_ht = sum_d query_hd row_td, in 16 lanes, of which lanes 8, 4, 2 and 1 apart are added.
     * score (2, SPEC_PATH_MAX), query (2, width). */
    void (*dot)(float *score, const float *query, int width, const float *rows, const int *index,
                int n);

    /* sum_h += sum_t weight_ht row_t, t ascending. sum (2, width), weight (2, SPEC_PATH_MAX). */
    void (*add)(float *sum, const float *weight, int width, const float *rows, const int *index,
                int n);
} spec_path_kernels;

extern const spec_path_kernels spec_path_kernels_ref, spec_path_kernels_avx2,
    spec_path_kernels_avx512;

const spec_path_kernels *spec_path_kernels_of(spec_isa isa);

#endif
