/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/sgemm_kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>

/* 24 of 32 registers hold sums. */
enum { FLOATS = 4, ROWS = 6, VECTORS = 4 };
typedef float32x4_t floats;
#define load vld1q_f32
#define store vst1q_f32
#define all vdupq_n_f32
#define fused(a, b, sum) vfmaq_f32(sum, a, b)
#include "models/train/sgemm_tile.h"

static void turn(float *to, size_t to_row, const float *from, size_t from_row, int n)
{
    for (size_t q = 0; q < SPEC_SGEMM_TURN; q++)
        for (size_t r = 0; r < (size_t)n; r++) to[q * to_row + r] = from[r * from_row + q];
}

const spec_sgemm_kernel spec_sgemm_kernel_neon = {ROWS, VECTORS *FLOATS, tile, turn};

#endif
