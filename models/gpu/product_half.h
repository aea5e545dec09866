/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_half: the F16 and BF16 matrix products, on matrix units.
 * A group has 32 columns of the matrix and takes two mma. A lane's 16 bytes of activations are
 * columns 8q..8q+7 of the group (tile.h). For kernels. */
#ifndef SPECLAB_PRODUCT_HALF_H
#define SPECLAB_PRODUCT_HALF_H

#include "models/gpu/product_parts.h"

/* Splits each F16 of a word exactly into a sum of two bf16: the upper 8 of 11 bits, and the
 * remainder. */
DEVICE void split_f16(uint32_t *high, uint32_t *low, uint32_t word)
{
    const float a = float_of_f16((uint16_t)word), b = float_of_f16((uint16_t)(word >> 16));
    const uint32_t a_high = bits_of_float(a) & 0xffff0000u, b_high = bits_of_float(b) & 0xffff0000u;
    *high = a_high >> 16 | b_high;
    *low = bits_of_float(a - float_of_bits(a_high)) >> 16 |
           (bits_of_float(b - float_of_bits(b_high)) & 0xffff0000u);
}

/* A lane's operand of one mma, and its remainder for F16. */
typedef struct {
    uint32_t high[4], low[4];
} half_fragment;

DEVICE half_fragment half_fragment_of(quad w, bool f16)
{
    half_fragment h;
    h.high[0] = w.x;
    h.high[1] = w.y;
    h.high[2] = w.z;
    h.high[3] = w.w;
    UNROLL
    for (int i = 0; i < 4; i++) {
        h.low[i] = 0;
        if (f16) split_f16(&h.high[i], &h.low[i], h.high[i]);
    }
    return h;
}

DEVICE void multiply_half(float *d, const half_fragment *w, uint32_t x0, uint32_t x1, bool f16)
{
    const uint32_t b[2] = {x0, x1};
    if (f16) mma_bf16(d, w->low, b);
    mma_bf16(d, w->high, b);
}

/* For up to 8 columns. Each lane copies its own operands into a private ring in shared memory. A
 * group takes 16 bytes twice for weights and once for activations. Lanes need not wait for each
 * other, and many loads are in flight without occupying registers. Lanes without a column copy no
 * activations and multiply stale data, which no other column sees. */
enum { HALF_DEPTH = 4, HALF_WARP_QUADS = 3 * WARP_LANES };

DEVICE void copy_half_weights(quad *slot, const product_place *p, int group, int groups)
{
    const unsigned char *const w = p->w + (size_t)group * TILE_HALF_BYTES;
    if (group >= groups) return;
    copy_once(&slot[LANE], w);
    copy_once(&slot[LANE + WARP_LANES], w + TILE_LANES);
}

/* The copies of activations complete the group. */
DEVICE void copy_half_activations(quad *slot, const uint16_t *x, bool own, int group, int groups)
{
    if (own && group < groups)
        copy_async(&slot[LANE + 2 * WARP_LANES], x + group * TILE_HALF_COLUMNS, true);
    copy_commit();
}

DEVICE void product_half_narrow(const struct product_args *a, bool f16)
{
    SHARED quad ring[PRODUCT_WARPS][HALF_DEPTH][HALF_WARP_QUADS];
    const int groups = pieces(a->cols, TILE_HALF_COLUMNS);
    const product_place p = product_place_of(a, (size_t)groups * TILE_HALF_BYTES, 1);
    const uint16_t *const x =
        (const uint16_t *)a->x + (size_t)(LANE / 4 * groups * TILE_HALF_COLUMNS + LANE % 4 * 8);
    const bool own = LANE / 4 < p.n;
    const int end = p.tiles > 0 ? groups : 0;
    product_sums sum = {{{0}}};

    for (int i = 0; i < HALF_DEPTH; i++)
        copy_half_weights(ring[WARP][i], &p, p.part + i * a->parts, end);
    after_previous();
    for (int i = 0; i < HALF_DEPTH; i++)
        copy_half_activations(ring[WARP][i], x, own, p.part + i * a->parts, end);
    int now = 0;
    for (int group = p.part; group < end; group += a->parts) {
        quad *const slot = ring[WARP][now];
        copy_wait(HALF_DEPTH - 1);
        const half_fragment w0 = half_fragment_of(load_quad(&slot[LANE]), f16);
        const half_fragment w1 = half_fragment_of(load_quad(&slot[LANE + WARP_LANES]), f16);
        const quad b = load_quad(&slot[LANE + 2 * WARP_LANES]);
        sync_warp(); /* so that the slot has been read before it is overwritten */
        copy_half_weights(slot, &p, group + HALF_DEPTH * a->parts, end);
        copy_half_activations(slot, x, own, group + HALF_DEPTH * a->parts, end);
        multiply_half(sum[0][0], &w0, b.x, b.y, f16);
        multiply_half(sum[0][0], &w1, b.z, b.w, f16);
        now = (now + 1) % HALF_DEPTH;
    }
    join_parts(a, &p, sum, 1, 1, false, ring[0][0]);
}

/* Loads 16 bytes twice. If there is no group, w keeps its value, which is then multiplied by
 * zeros. */
DEVICE void load_half(quad *w, const unsigned char *from, bool there)
{
    load_once_if(&w[0], there, from);
    load_once_if(&w[1], there, from + TILE_LANES);
}

/* For more columns. The block first copies activations to shared memory, one group per part at a
 * time, where warps with other rows read them too. A stage is [part][column][4] quads. */
enum {
    HALF_STAGES = 3,
    HALF_STAGE_QUADS = 512,
    HALF_COPIES = HALF_STAGE_QUADS / (PRODUCT_WARPS * WARP_LANES)
};

DEVICE void stage_half(quad *stage, const struct product_args *a, int N, int n, int step,
                       int groups)
{
    UNROLL
    for (int c = 0; c < HALF_COPIES; c++) {
        const int i = THREAD + c * PRODUCT_WARPS * WARP_LANES, q = i % 4, u = i / 4 % (N * EIGHT),
                  part = i / (N * 32);
        const int group = step * a->parts + BLOCK_Y * a->block_parts + part;
        const bool there = u < n && group < groups;
        const uint16_t *const x =
            (const uint16_t *)a->x +
            (there ? (size_t)((u * groups + group) * TILE_HALF_COLUMNS + q * 8) : 0);
        if (part < a->block_parts) copy_async(&stage[i], x, there);
    }
}

DEVICE void product_half_wide(const struct product_args *a, int T, int N, int DEPTH, bool f16)
{
    SHARED quad stage[HALF_STAGES][HALF_STAGE_QUADS];
    const int groups = pieces(a->cols, TILE_HALF_COLUMNS), steps = pieces(groups, a->parts);
    const product_place p = product_place_of(a, (size_t)groups * TILE_HALF_BYTES, T);
    const int own = WARP % a->block_parts * N * 32 + LANE;
    product_sums sum = {{{0}}};
    quad weight[DEPTH_MAX][T_MAX][2] = {{{{0}}}};

    const unsigned char *from =
        p.w + (size_t)p.part * TILE_HALF_BYTES; /* the next group to load */
    int left =
        /* groups that are not yet loaded */
        p.part < groups ? pieces(groups - p.part, a->parts) : 0;
    UNROLL
    for (int ring = 0; ring < DEPTH; ring++) {
        UNROLL
        for (int t = 0; t < T; t++)
            load_half(weight[ring][t], from + (size_t)t * p.tile_bytes, left > 0 && t < p.tiles);
        from += a->parts * TILE_HALF_BYTES;
        left--;
    }
    after_previous();
    for (int s = 0; s < HALF_STAGES - 1; s++) {
        if (s < steps) stage_half(stage[s], a, N, p.n, s, groups);
        copy_commit();
    }
    int now = 0;
    for (int begin = 0; begin < steps; begin += DEPTH) {
        UNROLL
        for (int ring = 0; ring < DEPTH; ring++) {
            const int step = begin + ring, ahead = step + HALF_STAGES - 1;
            if (step >= steps) continue; /* true for the whole block */
            copy_wait(HALF_STAGES - 2);
            sync_block(); /* All copies are complete, and the stage to be overwritten has been
                           * read. */
            if (ahead < steps)
                stage_half(stage[now == 0 ? HALF_STAGES - 1 : now - 1], a, N, p.n, ahead, groups);
            copy_commit();
            half_fragment w[T_MAX][2];
            UNROLL
            for (int i = 0; i < 2 * T; i++)
                w[i / 2][i % 2] = half_fragment_of(weight[ring][i / 2][i % 2], f16);
            UNROLL
            for (int j = 0; j < N; j++) {
                const quad b = load_quad(&stage[now][own + j * WARP_LANES]);
                UNROLL
                for (int t = 0; t < T; t++) {
                    multiply_half(sum[t][j], &w[t][0], b.x, b.y, f16);
                    multiply_half(sum[t][j], &w[t][1], b.z, b.w, f16);
                }
            }
            UNROLL
            for (int t = 0; t < T; t++)
                load_half(weight[ring][t], from + (size_t)t * p.tile_bytes,
                          left > 0 && t < p.tiles);
            from += a->parts * TILE_HALF_BYTES;
            left--;
            now = now == HALF_STAGES - 1 ? 0 : now + 1;
        }
    }
    join_parts(a, &p, sum, T, N, false, stage[0]);
}

#endif
