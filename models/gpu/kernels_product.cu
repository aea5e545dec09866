/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/kernels_product.h"

#include "models/gpu/product_floats.h"
#include "models/gpu/product_half.h"
#include "models/gpu/product_quantised.h"

/* The arguments are tiles of rows, tiles of eight columns, and groups loaded ahead
 * (product_parts.h). */
KERNEL_RESIDENT(product_f32_1, 256, 4) { product_floats(&a.product, 2, 1); }
KERNEL_RESIDENT(product_f32_2, 256, 2) { product_floats(&a.product, 2, 2); }
KERNEL(product_f32_4, 256) { product_floats(&a.product, 2, 4); }
KERNEL(product_f32_8, 256) { product_floats(&a.product, 1, 8); }
KERNEL_RESIDENT(product_f16_1, 256, 4) { product_half_narrow(&a.product, true); }
KERNEL_RESIDENT(product_f16_2, 256, 2) { product_half_wide(&a.product, 2, 2, 2, true); }
KERNEL_RESIDENT(product_f16_4, 256, 2) { product_half_wide(&a.product, 2, 4, 2, true); }
KERNEL_RESIDENT(product_f16_8, 256, 1) { product_half_wide(&a.product, 2, 8, 2, true); }
KERNEL_RESIDENT(product_bf16_1, 256, 4) { product_half_narrow(&a.product, false); }
KERNEL_RESIDENT(product_bf16_2, 256, 2) { product_half_wide(&a.product, 2, 2, 2, false); }
KERNEL_RESIDENT(product_bf16_4, 256, 2) { product_half_wide(&a.product, 2, 4, 2, false); }
KERNEL_RESIDENT(product_bf16_8, 256, 2) { product_half_wide(&a.product, 2, 8, 2, false); }
KERNEL_RESIDENT(product_q8_0_1, 256, 3) { product_quantised_narrow(&a.product, Q8_0_DEPTH, false); }
KERNEL(product_q8_0_2, 256) { product_quantised_wide(&a.product, 2, 2, false); }
KERNEL(product_q8_0_4, 256) { product_quantised_wide(&a.product, 2, 4, false); }
KERNEL(product_q8_0_8, 256) { product_quantised_wide(&a.product, 2, 8, false); }
KERNEL_RESIDENT(product_q4_0_1, 256, 3) { product_quantised_narrow(&a.product, Q4_0_DEPTH, true); }
KERNEL(product_q4_0_2, 256) { product_quantised_wide(&a.product, 2, 2, true); }
KERNEL(product_q4_0_4, 256) { product_quantised_wide(&a.product, 2, 4, true); }
KERNEL(product_q4_0_8, 256) { product_quantised_wide(&a.product, 2, 8, true); }

/* -- embedding lookups -- */

DEVICE float half_at(const unsigned char *at, bool f16)
{
    const uint16_t half = (uint16_t)(at[0] | at[1] << 8);
    return f16 ? float_of_f16(half) : float_of_bf16(half);
}

/* One block per token and per 256 columns of the table. */
KERNEL(embed, 256)
{
    after_previous();
    const int u = BLOCK_Y, k = BLOCK_X * THREADS + THREAD;
    if (u >= a.batch->n || k >= a.cols) return;
    const int token = a.batch->token[u], r = token % TILE_ROWS;
    float value;
    size_t tile = (size_t)(token / TILE_ROWS);
    if (a.type == PRODUCT_F32) {
        tile *= (size_t)pieces(a.cols, TILE_F32_COLUMNS) * TILE_F32_BYTES;
        value = *(const float *)(a.table + tile + TILE_F32_AT(r, k));
    } else if (a.type == PRODUCT_F16 || a.type == PRODUCT_BF16) {
        tile *= (size_t)pieces(a.cols, TILE_HALF_COLUMNS) * TILE_HALF_BYTES;
        value = half_at(a.table + tile + TILE_HALF_AT(r, k), a.type == PRODUCT_F16);
    } else if (a.type == PRODUCT_Q8_0) {
        tile *= (size_t)pieces(a.cols, TILE_QUANTISED_COLUMNS) * TILE_Q8_0_BYTES;
        value = half_at(a.table + tile + TILE_Q8_0_SCALE_AT(r, k), true) *
                (float)(int8_t)a.table[tile + TILE_Q8_0_AT(r, k)];
    } else {
        tile *= (size_t)pieces(a.cols, TILE_QUANTISED_COLUMNS) * TILE_Q4_0_BYTES;
        const int both = a.table[tile + TILE_Q4_0_AT(r, k)];
        value = half_at(a.table + tile + TILE_Q4_0_SCALE_AT(r, k), true) *
                (float)((TILE_Q4_0_IS_HIGH(k) ? both >> 4 : both & 15) - 8);
    }
    a.x[(size_t)u * (size_t)a.cols + (size_t)k] = value;
}
