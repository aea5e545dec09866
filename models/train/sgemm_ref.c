/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/sgemm_kernels.h"

#include <math.h>

enum { ROWS = 4, COLS = SPEC_SGEMM_TURN };

static void tile(float *c, size_t stride, const float *a, const float *b, int k, bool add)
{
    for (size_t r = 0; r < ROWS; r++)
        for (size_t j = 0; j < COLS; j++) {
            float sum = add ? c[r * stride + j] : 0.0f;
            for (size_t q = 0; q < (size_t)k; q++)
                sum = fmaf(a[q * ROWS + r], b[q * COLS + j], sum);
            c[r * stride + j] = sum;
        }
}

static void turn(float *to, size_t to_row, const float *from, size_t from_row, int n)
{
    for (size_t q = 0; q < SPEC_SGEMM_TURN; q++)
        for (size_t r = 0; r < (size_t)n; r++) to[q * to_row + r] = from[r * from_row + q];
}

const spec_sgemm_kernel spec_sgemm_kernel_ref = {ROWS, COLS, tile, turn};
