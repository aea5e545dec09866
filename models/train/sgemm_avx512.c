/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/sgemm_kernels.h"

#if defined(__AVX512F__)
#include <immintrin.h>

/* 28 of 32 registers hold sums. */
enum { FLOATS = 16, ROWS = 14, VECTORS = 2 };
typedef __m512 floats;
#define load _mm512_loadu_ps
#define store _mm512_storeu_ps
#define all _mm512_set1_ps
#define fused _mm512_fmadd_ps
#include "models/train/sgemm_tile.h"

/* Transposes within pairs, then within fours (128 bits), and then swaps these quarters with each
 * other. */
static void turn(float *to, size_t to_row, const float *from, size_t from_row, int n)
{
    (void)n;
    __m512 x[16], y[16];
    for (int i = 0; i < 16; i++) x[i] = _mm512_loadu_ps(from + (size_t)i * from_row);
    for (int i = 0; i < 16; i += 2) {
        y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        const __m512d a = _mm512_castps_pd(y[i]), b = _mm512_castps_pd(y[i + 1]),
                      c = _mm512_castps_pd(y[i + 2]), d = _mm512_castps_pd(y[i + 3]);
        x[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        x[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        x[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        x[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
    for (int i = 0; i < 4; i++) { /* x[4 g + i]: element 4 p + i of rows 4 g.., in quarter p */
        y[i] = _mm512_shuffle_f32x4(x[i], x[4 + i], 0x88);
        y[4 + i] = _mm512_shuffle_f32x4(x[i], x[4 + i], 0xdd);
        y[8 + i] = _mm512_shuffle_f32x4(x[8 + i], x[12 + i], 0x88);
        y[12 + i] = _mm512_shuffle_f32x4(x[8 + i], x[12 + i], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        x[i] = _mm512_shuffle_f32x4(y[i], y[8 + i], 0x88);
        x[8 + i] = _mm512_shuffle_f32x4(y[i], y[8 + i], 0xdd);
        x[4 + i] = _mm512_shuffle_f32x4(y[4 + i], y[12 + i], 0x88);
        x[12 + i] = _mm512_shuffle_f32x4(y[4 + i], y[12 + i], 0xdd);
    }
    for (int i = 0; i < 16; i++) _mm512_storeu_ps(to + (size_t)i * to_row, x[i]);
}

const spec_sgemm_kernel spec_sgemm_kernel_avx512 = {ROWS, VECTORS *FLOATS, tile, turn};

#endif
