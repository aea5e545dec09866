/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_floats: the F32 matrix product, without matrix units.
 * A group has 8 columns of the matrix. There is one fused multiply-add per weight and column of
 * activations. Lane l has row l % 16 of a tile and four columns of each group; the other four are
 * in lane l ^ 16, added at the end. For kernels. */
#ifndef SPECLAB_PRODUCT_FLOATS_H
#define SPECLAB_PRODUCT_FLOATS_H

#include "models/gpu/product_parts.h"

/* Loads four activations of a column, from k on; zeros past the end of its row. Rows are aligned if
 * cols is a multiple of four. */
DEVICE quad load_four(const float *x, int k, int cols, bool aligned)
{
    if (aligned) return load_quad_if(k < cols, x + k);
    quad v;
    v.x = k < cols ? bits_of_float(x[k]) : 0;
    v.y = k + 1 < cols ? bits_of_float(x[k + 1]) : 0;
    v.z = k + 2 < cols ? bits_of_float(x[k + 2]) : 0;
    v.w = k + 3 < cols ? bits_of_float(x[k + 3]) : 0;
    return v;
}

enum { FLOATS_DEPTH = 4 };

DEVICE void copy_floats(quad *slot, const product_place *p, int group, int groups)
{
    for (int t = 0; t < p->tiles && group < groups; t++)
        copy_once(&slot[t * WARP_LANES + LANE],
                  p->w + (size_t)t * p->tile_bytes + (size_t)group * TILE_F32_BYTES);
    copy_commit();
}

DEVICE void multiply_floats(product_sums sum, const struct product_args *a, const quad *w, int n,
                            int k, int T, int N, bool aligned)
{
    UNROLL
    for (int j = 0; j < N; j++) {
        if (j * EIGHT >= n) continue; /* true for the whole block */
        UNROLL
        for (int c = 0; c < EIGHT; c++) {
            const int u = j * EIGHT + c < n ? j * EIGHT + c
                                            : n - 1; /* missing columns repeat the last */
            const quad v =
                load_four((const float *)a->x + (size_t)u * (size_t)a->cols, k, a->cols, aligned);
            UNROLL
            for (int t = 0; t < T; t++) {
                float d = sum[t][j][c];
                d = fmaf(float_of_bits(w[t].x), float_of_bits(v.x), d);
                d = fmaf(float_of_bits(w[t].y), float_of_bits(v.y), d);
                d = fmaf(float_of_bits(w[t].z), float_of_bits(v.z), d);
                sum[t][j][c] = fmaf(float_of_bits(w[t].w), float_of_bits(v.w), d);
            }
        }
    }
}

DEVICE void sum_floats(product_sums sum, const struct product_args *a, const product_place *p,
                       quad *ring, int T, int N, bool aligned)
{
    const int groups = pieces(a->cols, TILE_F32_COLUMNS), half = LANE / TILE_ROWS * 4;
    const int end = p->tiles > 0 ? groups : 0;
    for (int i = 0; i < FLOATS_DEPTH; i++)
        copy_floats(ring + i * T_MAX * WARP_LANES, p, p->part + i * a->parts, end);
    after_previous();
    int now = 0;
    for (int group = p->part; group < end; group += a->parts) {
        quad *const slot = ring + now * T_MAX * WARP_LANES;
        quad w[T_MAX] = {{0, 0, 0, 0}};
        copy_wait(FLOATS_DEPTH - 1);
        UNROLL
        for (int t = 0; t < T; t++)
            if (t < p->tiles) w[t] = load_quad(&slot[t * WARP_LANES + LANE]);
        sync_warp(); /* so that the slot has been read before it is overwritten */
        copy_floats(slot, p, group + FLOATS_DEPTH * a->parts, end);
        multiply_floats(sum, a, w, p->n, group * TILE_F32_COLUMNS + half, T, N, aligned);
        now = (now + 1) % FLOATS_DEPTH;
    }
}

DEVICE void product_floats(const struct product_args *a, int T, int N)
{
    SHARED quad ring[PRODUCT_WARPS]
                    [FLOATS_DEPTH * T_MAX * WARP_LANES]; /* a lane's own, see product_half.h */
    const product_place p =
        product_place_of(a, (size_t)pieces(a->cols, TILE_F32_COLUMNS) * TILE_F32_BYTES, T);
    product_sums sum = {{{0}}};
    if (a->cols % 4 == 0) sum_floats(sum, a, &p, ring[WARP], T, N, true);
    else sum_floats(sum, a, &p, ring[WARP], T, N, false);
    UNROLL
    for (int t = 0; t < T; t++) {
        UNROLL
        for (int u = 0; u < N * EIGHT; u++) {
            float *const d = &sum[t][u / EIGHT][u % EIGHT];
            *d = *d + shuffle_xor(*d, TILE_ROWS);
        }
    }
    join_parts(a, &p, sum, T, N, true, ring[0]);
}

#endif
