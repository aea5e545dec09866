/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/warp_product.h"

#include "models/gpu/simt.h"

enum { ROWS = 16, COLUMNS = 8, BF16_DEPTH = 16, INT8_DEPTH = 32 };

/* A row of D or B. Its elements are summed in parallel, each in its own order: the same bits with
 * any instruction set. */
typedef float row_floats __attribute__((vector_size(COLUMNS * sizeof(float))));
typedef double row_doubles __attribute__((vector_size(COLUMNS * sizeof(double))));

static inline __attribute__((always_inline)) void product_bf16(warp_fragments *const lanes[32])
{
    float a[ROWS][BF16_DEPTH];
    row_floats b[BF16_DEPTH], d[ROWS];
    for (int l = 0; l < WARP_LANES; l++) {
        const int g = l / 4, q = l % 4;
        for (int i = 0; i < 4; i++) {
            const uint32_t word = lanes[l]->a[i];
            const int row = g + i % 2 * 8, k = 2 * q + i / 2 * 8;
            a[row][k] = float_of_bits(word << 16);
            a[row][k + 1] = float_of_bits(word & 0xffff0000u);
            d[g + i / 2 * 8][2 * q + i % 2] = lanes[l]->d.of_bf16[i];
        }
        for (int i = 0; i < 2; i++) {
            const uint32_t word = lanes[l]->b[i];
            b[2 * q + i * 8][g] = float_of_bits(word << 16);
            b[2 * q + i * 8 + 1][g] = float_of_bits(word & 0xffff0000u);
        }
    }
    for (int row = 0; row < ROWS; row++) {
        row_doubles sum = __builtin_convertvector(d[row], row_doubles);
        for (int k = 0; k < BF16_DEPTH; k++)
            sum += __builtin_convertvector(a[row][k] * b[k], row_doubles);
        d[row] = __builtin_convertvector(sum, row_floats);
    }
    for (int l = 0; l < WARP_LANES; l++)
        for (int i = 0; i < 4; i++)
            lanes[l]->d.of_bf16[i] = d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2];
}

#if defined __x86_64__
__attribute__((target("avx2"))) static void product_bf16_avx2(warp_fragments *const lanes[32])
{
    product_bf16(lanes);
}

void warp_product_bf16(warp_fragments *const lanes[32])
{
    if (__builtin_cpu_supports("avx2")) product_bf16_avx2(lanes);
    else product_bf16(lanes);
}
#else
void warp_product_bf16(warp_fragments *const lanes[32]) { product_bf16(lanes); }
#endif

void warp_product_int8(warp_fragments *const lanes[32])
{
    int16_t a[ROWS][INT8_DEPTH], b[COLUMNS][INT8_DEPTH];
    for (int l = 0; l < WARP_LANES; l++) {
        const int g = l / 4, q = l % 4;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                a[g + i % 2 * 8][4 * q + i / 2 * 16 + j] = (int8_t)(lanes[l]->a[i] >> 8 * j & 0xff);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++)
                b[g][4 * q + i * 16 + j] = (int8_t)(lanes[l]->b[i] >> 8 * j & 0xff);
    }
    for (int l = 0; l < WARP_LANES; l++) {
        int32_t *d = lanes[l]->d.of_int8;
        for (int i = 0; i < 4; i++) {
            const int16_t *x = a[l / 4 + i / 2 * 8], *y = b[l % 4 * 2 + i % 2];
            int32_t sum = 0;
            for (int k = 0; k < INT8_DEPTH; k++) sum += x[k] * y[k];
            d[i] = (int32_t)((uint32_t)d[i] + (uint32_t)sum); /* wraps, as on a GPU */
        }
    }
}
