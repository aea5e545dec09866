/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/sgemm_kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>

/* 12 of 16 registers hold sums. */
enum { FLOATS = 8, ROWS = 6, VECTORS = 2 };
typedef __m256 floats;
#define load _mm256_loadu_ps
#define store _mm256_storeu_ps
#define all _mm256_set1_ps
#define fused _mm256_fmadd_ps
#include "models/train/sgemm_tile.h"

/* Transposes columns q..q+7 of 8 rows. */
static void turn_eight(float *to, size_t to_row, const float *from, size_t from_row)
{
    __m256 x[8], y[8];
    for (int i = 0; i < 8; i++) x[i] = _mm256_loadu_ps(from + (size_t)i * from_row);
    for (int i = 0; i < 8; i += 2) {
        y[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        x[i] = _mm256_shuffle_ps(y[i], y[i + 2], 0x44);
        x[i + 1] = _mm256_shuffle_ps(y[i], y[i + 2], 0xee);
        x[i + 2] = _mm256_shuffle_ps(y[i + 1], y[i + 3], 0x44);
        x[i + 3] = _mm256_shuffle_ps(y[i + 1], y[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        y[i] = _mm256_permute2f128_ps(x[i], x[4 + i], 0x20);
        y[4 + i] = _mm256_permute2f128_ps(x[i], x[4 + i], 0x31);
    }
    for (int i = 0; i < 8; i++) _mm256_storeu_ps(to + (size_t)i * to_row, y[i]);
}

static void turn(float *to, size_t to_row, const float *from, size_t from_row, int n)
{
    for (size_t q = 0; q < SPEC_SGEMM_TURN; q += 8)
        for (size_t r = 0; r < (size_t)n; r += 8)
            turn_eight(to + q * to_row + r, to_row, from + r * from_row + q, from_row);
}

const spec_sgemm_kernel spec_sgemm_kernel_avx2 = {ROWS, VECTORS *FLOATS, tile, turn};

#endif
