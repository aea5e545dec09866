/* product_floats: the product of F32, without mma: groups of 8 columns of the matrix, one fused operation a weight and
 * column of activations. Lane l has row l % 16 of a tile and four of each group's columns; the other four come from lane
 * l ^ 16 in the end. For kernels. */
#ifndef SPECLAB_PRODUCT_FLOATS_H
#define SPECLAB_PRODUCT_FLOATS_H

#include "models/gpu/product_parts.h"

/* Four activations of a column, from k on; past the end of its row there are zeros. */
DEVICE quad load_floats(const float *x, int k, int cols)
{
    if (cols % 4 == 0) return load_quad_if(k < cols, x + k); /* rows are aligned then */
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
        copy_once(&slot[t * WARP_LANES + LANE], p->w + (size_t)t * p->tile_bytes + (size_t)group * TILE_F32_BYTES);
    copy_commit();
}

DEVICE void product_floats(const struct product_args *a, int T, int N)
{
    SHARED quad ring[PRODUCT_WARPS][FLOATS_DEPTH][T_MAX * WARP_LANES]; /* a lane's own, as in product_half.h */
    const int groups = pieces(a->cols, TILE_F32_COLUMNS), half = LANE / TILE_ROWS * 4;
    const product_place p = product_place_of(a, (size_t)groups * TILE_F32_BYTES, T);
    const int end = p.tiles > 0 ? groups : 0;
    product_sums sum = {{{0}}};

    for (int i = 0; i < FLOATS_DEPTH; i++) copy_floats(ring[WARP][i], &p, p.part + i * a->parts, end);
    int now = 0;
    for (int group = p.part; group < end; group += a->parts) {
        quad *const slot = ring[WARP][now];
        quad w[T_MAX] = {{0}};
        copy_wait(FLOATS_DEPTH - 1);
        UNROLL
        for (int t = 0; t < T; t++)
            if (t < p.tiles) w[t] = load_quad(&slot[t * WARP_LANES + LANE]);
        copy_floats(slot, &p, group + FLOATS_DEPTH * a->parts, end);
        UNROLL
        for (int u = 0; u < N * EIGHT; u++) {
            if (u >= p.n) continue; /* all of the block */
            const quad v = load_floats((const float *)a->x + (size_t)u * (size_t)a->cols,
                                       group * TILE_F32_COLUMNS + half, a->cols);
            UNROLL
            for (int t = 0; t < T; t++) {
                float d = sum[t][u / EIGHT][u % EIGHT];
                d = fmaf(float_of_bits(w[t].x), float_of_bits(v.x), d);
                d = fmaf(float_of_bits(w[t].y), float_of_bits(v.y), d);
                d = fmaf(float_of_bits(w[t].z), float_of_bits(v.z), d);
                sum[t][u / EIGHT][u % EIGHT] = fmaf(float_of_bits(w[t].w), float_of_bits(v.w), d);
            }
        }
        now = (now + 1) % FLOATS_DEPTH;
    }
    UNROLL
    for (int t = 0; t < T; t++) {
        UNROLL
        for (int u = 0; u < N * EIGHT; u++) {
            float *const d = &sum[t][u / EIGHT][u % EIGHT];
            *d = *d + shuffle_xor(*d, TILE_ROWS);
        }
    }
    join_parts(a, &p, sum, T, N, true, ring[0][0]);
}

#endif
