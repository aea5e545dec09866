/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_quantised: the Q8_0 and Q4_0 matrix products, on integer matrix units.
 * A group has four blocks of 32 columns of the matrix. For each block we do one exact integer mma,
 * and a fused multiply-add with the product of the scales, as in
 * models/transformer/kernels/product.h. For kernels. */
#ifndef SPECLAB_PRODUCT_QUANTISED_H
#define SPECLAB_PRODUCT_QUANTISED_H

#include "models/gpu/product_parts.h"

enum { GROUP = TILE_QUANTISED_COLUMNS, BLOCKS = GROUP / TILE_BLOCK };

typedef struct {
    quad w[BLOCKS]; /* each holds one block, or for Q4_0 two */
    pair scale[2];  /* the four F16 scales of row g, and those of row g + 8 */
} quantised_weights;

DEVICE int group_bytes(bool q4) { return q4 ? TILE_Q4_0_BYTES : TILE_Q8_0_BYTES; }
DEVICE int group_quads(bool q4) { return q4 ? BLOCKS / 2 : BLOCKS; } /* quads per lane */

/* Returns block b as an operand of mma_int8. A half byte moves to the upper half, which multiplies
 * it by 16. */
DEVICE void fragment_of_block(uint32_t *a, const quantised_weights *w, int b, bool q4)
{
    if (q4) {
        const quad two = w->w[b / 2];
        const uint32_t g = b % 2 == 0 ? two.x : two.z, g8 = b % 2 == 0 ? two.y : two.w;
        a[0] = (g << 4 & 0xf0f0f0f0u) ^ 0x80808080u;
        a[1] = (g8 << 4 & 0xf0f0f0f0u) ^ 0x80808080u;
        a[2] = (g & 0xf0f0f0f0u) ^ 0x80808080u;
        a[3] = (g8 & 0xf0f0f0f0u) ^ 0x80808080u;
    } else {
        a[0] = w->w[b].x;
        a[1] = w->w[b].y;
        a[2] = w->w[b].z;
        a[3] = w->w[b].w;
    }
}

DEVICE float scale_of_block(pair scales, int b, bool q4)
{
    const uint32_t two = b < 2 ? scales.x : scales.y;
    return float_of_f16((uint16_t)(two >> b % 2 * 16)) * (q4 ? 0.0625f : 1.0f);
}

/* The bits of 1.5 * 2^23. Adding an integer below 2^22 to these bits yields the bits of the sum. */
#define WHOLE_BITS 0x4b400000
#define WHOLE 12582912.0f

/* d += a block's dot products, each times the scales of its row and column. */
DEVICE void multiply_block(float *d, const uint32_t *a, const float *row_scale, pair x,
                           const float *column_scale)
{
    const uint32_t b[2] = {x.x, x.y};
    int32_t dot[4] = {WHOLE_BITS, WHOLE_BITS, WHOLE_BITS, WHOLE_BITS};
    mma_int8(dot, a, b);
    UNROLL
    for (int i = 0; i < 4; i++)
        d[i] = fmaf(float_of_bits((uint32_t)dot[i]) - WHOLE, row_scale[i / 2] * column_scale[i % 2],
                    d[i]);
}

DEVICE const float *operand_scales_of(const struct product_args *a, int width, int column)
{
    return (const float *)((const char *)a->x + (size_t)PASS_COLUMNS * (size_t)width) +
           column * (width / TILE_BLOCK);
}

/* ---- up to 8 columns: each warp reads weights through its own ring in shared memory --------- */

enum {
    Q8_0_DEPTH = 2,
    Q4_0_DEPTH = 4,
    Q8_0_QUADS = Q8_0_DEPTH * TILE_Q8_0_BYTES / 16,
    Q4_0_QUADS = Q4_0_DEPTH * TILE_Q4_0_BYTES / 16,
    RING_QUADS = Q8_0_QUADS > Q4_0_QUADS ? Q8_0_QUADS : Q4_0_QUADS
};

/* Copies a group of weights as laid out in memory, with all lanes, of which 8 copy the scales. */
DEVICE void copy_group(quad *slot, const product_place *p, int group, int groups, bool q4)
{
    if (group < groups) {
        const unsigned char *const w = p->w + (size_t)group * (size_t)group_bytes(q4);
        UNROLL
        for (int i = 0; i < group_quads(q4); i++)
            copy_once(&slot[LANE + i * WARP_LANES], w + i * TILE_LANES);
        if (LANE < 8)
            copy_once(&slot[LANE + group_quads(q4) * WARP_LANES], w + group_quads(q4) * TILE_LANES);
    }
    copy_commit();
}

typedef struct {
    pair x[BLOCKS]; /* of the column in the lane's fragment B */
    quad scale[2];  /* of the two columns in its fragment D */
} quantised_activations;

/* Lanes without a column load none. */
DEVICE void load_activations(quantised_activations *v, const struct product_args *a, int n,
                             int group, int groups)
{
    const int g = LANE / 4, q = LANE % 4;
    const char *const x = (const char *)a->x + (g * groups + group) * GROUP + 8 * q;
    UNROLL
    for (int b = 0; b < BLOCKS; b++)
        v->x[b] = load_pair_if(group < groups && g < n, x + b * TILE_BLOCK);
    UNROLL
    for (int i = 0; i < 2; i++)
        v->scale[i] =
            load_quad_if(group < groups && 2 * q + i < n,
                         operand_scales_of(a, groups * GROUP, 2 * q + i) + group * BLOCKS);
}

DEVICE float word_of(quad four, int b)
{
    return float_of_bits(b == 0 ? four.x : b == 1 ? four.y : b == 2 ? four.z : four.w);
}

DEVICE void product_quantised_narrow(const struct product_args *a, int DEPTH, bool q4)
{
    SHARED quad ring[PRODUCT_WARPS][RING_QUADS];
    const int groups = pieces(a->cols, GROUP), slot_quads = group_bytes(q4) / 16;
    const product_place p = product_place_of(a, (size_t)groups * (size_t)group_bytes(q4), 1);
    const int end = p.tiles > 0 ? groups : 0;
    product_sums sum = {{{0}}};
    quantised_activations v;

    for (int i = 0; i < DEPTH; i++)
        copy_group(&ring[WARP][i * slot_quads], &p, p.part + i * a->parts, end, q4);
    after_previous();
    load_activations(&v, a, p.n, p.part, groups);
    int now = 0;
    for (int group = p.part; group < end; group += a->parts) {
        quad *const slot = &ring[WARP][now * slot_quads];
        quantised_weights w;
        quantised_activations next;
        if (q4) copy_wait(Q4_0_DEPTH - 1);
        else copy_wait(Q8_0_DEPTH - 1);
        sync_warp(); /* other lanes copied the scales */
        UNROLL
        for (int i = 0; i < group_quads(q4); i++) w.w[i] = load_quad(&slot[LANE + i * WARP_LANES]);
        UNROLL
        for (int i = 0; i < 2; i++)
            w.scale[i] = load_pair((const char *)&slot[group_quads(q4) * WARP_LANES] +
                                   (LANE / 4 + 8 * i) * 8);
        sync_warp();
        copy_group(slot, &p, group + DEPTH * a->parts, end, q4);
        load_activations(&next, a, p.n, group + a->parts, groups);
        UNROLL
        for (int b = 0; b < BLOCKS; b++) {
            uint32_t rows[4];
            const float row_scale[2] = {scale_of_block(w.scale[0], b, q4),
                                        scale_of_block(w.scale[1], b, q4)};
            const float column_scale[2] = {word_of(v.scale[0], b), word_of(v.scale[1], b)};
            fragment_of_block(rows, &w, b, q4);
            multiply_block(sum[0][0], rows, row_scale, v.x[b], column_scale);
        }
        v = next;
        now = now + 1 < DEPTH ? now + 1 : 0;
    }
    join_parts(a, &p, sum, 1, 1, false, ring[0]);
}

/* ---- more columns: the block stages activations in shared memory, as in product_half.h ------ */

/* A stage is, for each part, [block][column][32 bytes], then the scales [column][block]: 72 pieces
 * of 16 bytes per eight columns. */
enum { QUANTISED_STAGES = 2, STAGE_PIECES = 2 * 9 * EIGHT * N_MAX, STAGE_COPIES = 4 };

DEVICE void stage_quantised(quad *stage, const struct product_args *a, int N, int n, int step,
                            int groups)
{
    const int columns = N * EIGHT, first = step * a->parts + BLOCK_Y * a->block_parts,
              width = groups * GROUP;
    UNROLL
    for (int c = 0; c < STAGE_COPIES; c++) { /* the eight pieces of a column are contiguous */
        const int i = THREAD + c * PRODUCT_WARPS * WARP_LANES, piece = i % 8, u = i / 8 % columns;
        const int part = i / 8 / columns;
        const bool there = u < n && first + part < groups;
        const char *const from =
            (const char *)a->x + (there ? u * width + (first + part) * GROUP + piece * 16 : 0);
        quad *const to = &stage[(part * 9 + piece / 2 * 2) * columns + u * 2 + piece % 2];
        if (part < a->block_parts) copy_async(to, from, there);
    }
    const int u = THREAD % columns, part = THREAD / columns;
    const bool there = u < n && first + part < groups;
    const float *const scales =
        operand_scales_of(a, width, there ? u : 0) + (there ? (first + part) * BLOCKS : 0);
    if (part < a->block_parts) copy_async(&stage[(part * 9 + 8) * columns + u], scales, there);
}

/* Loads the group at `from`. If there is none, w keeps its value, which is then multiplied by
 * zeros. */
DEVICE void load_group(quantised_weights *w, const unsigned char *from, bool there, bool q4)
{
    const unsigned char *const scales = from + group_quads(q4) * TILE_LANES + LANE / 4 * 8;
    UNROLL
    for (int i = 0; i < group_quads(q4); i++)
        load_once_if(&w->w[i], there, from + LANE * 16 + i * TILE_LANES);
    if (there) w->scale[0] = load_pair(scales);
    if (there) w->scale[1] = load_pair(scales + 8 * 8);
}

/* x points to the lane's first 8 bytes in a stage. */
DEVICE void multiply_group(product_sums sum, const quantised_weights *weight, const char *x, int T,
                           int N, int n, bool q4)
{
    const int columns = N * EIGHT;
    const char *const scales = x - LANE * 8 + GROUP * columns + LANE % 4 * 2 * (int)sizeof(quad);
    uint32_t rows[T_MAX][BLOCKS][4];
    float row_scale[T_MAX][BLOCKS][2];
    UNROLL
    for (int i = 0; i < T * BLOCKS; i++) {
        fragment_of_block(rows[i / BLOCKS][i % BLOCKS], &weight[i / BLOCKS], i % BLOCKS, q4);
        row_scale[i / BLOCKS][i % BLOCKS][0] =
            scale_of_block(weight[i / BLOCKS].scale[0], i % BLOCKS, q4);
        row_scale[i / BLOCKS][i % BLOCKS][1] =
            scale_of_block(weight[i / BLOCKS].scale[1], i % BLOCKS, q4);
    }
    UNROLL
    for (int j = 0; j < N; j++) {
        const char *const two = scales + j * EIGHT * (int)sizeof(quad);
        if (j * EIGHT >= n)
            continue; /* True for the whole block; the compiler does not merge the branches. */
        const quad scale[2] = {load_quad(two), load_quad(two + sizeof(quad))};
        UNROLL
        for (int b = 0; b < BLOCKS; b++) {
            const pair v = load_pair(x + (b * columns + j * EIGHT) * TILE_BLOCK);
            const float column_scale[2] = {word_of(scale[0], b), word_of(scale[1], b)};
            UNROLL
            for (int t = 0; t < T; t++)
                multiply_block(sum[t][j], rows[t][b], row_scale[t][b], v, column_scale);
        }
    }
}

DEVICE void product_quantised_wide(const struct product_args *a, int T, int N, bool q4)
{
    SHARED quad stage[QUANTISED_STAGES][STAGE_PIECES];
    const int groups = pieces(a->cols, GROUP), steps = pieces(groups, a->parts);
    const product_place p = product_place_of(a, (size_t)groups * (size_t)group_bytes(q4), T);
    const int own = WARP % a->block_parts * 9 * N * EIGHT;
    const unsigned char *from = p.w - LANE * 16 + (size_t)p.part * (size_t)group_bytes(q4);
    int left = p.part < groups ? pieces(groups - p.part, a->parts)
                               : 0; /* groups that are not yet loaded */
    product_sums sum = {{{0}}};
    quantised_weights weight[QUANTISED_STAGES][T_MAX] = {{{{{0, 0, 0, 0}}, {{0, 0}}}}};

    UNROLL
    for (int t = 0; t < T; t++)
        load_group(&weight[0][t], from + (size_t)t * p.tile_bytes, left > 0 && t < p.tiles, q4);
    after_previous();
    stage_quantised(stage[0], a, N, p.n, 0, groups);
    copy_commit();
    for (int begin = 0; begin < steps; begin += QUANTISED_STAGES) {
        UNROLL
        for (int now = 0; now < QUANTISED_STAGES; now++) {
            const int step = begin + now, next = 1 - now;
            if (step >= steps) continue; /* true for the whole block */
            from += a->parts * group_bytes(q4);
            left--;
            /* Before the barrier, so that the loads are in flight during this step's products. */
            UNROLL
            for (int t = 0; t < T; t++)
                load_group(&weight[next][t], from + (size_t)t * p.tile_bytes,
                           left > 0 && t < p.tiles, q4);
            copy_wait(0);
            sync_block(); /* All copies are complete, and the stage to be overwritten has been
                           * read. */
            if (step + 1 < steps) stage_quantised(stage[next], a, N, p.n, step + 1, groups);
            copy_commit();
            multiply_group(sum, weight[now], (const char *)&stage[now][own] + LANE * 8, T, N, p.n,
                           q4);
        }
    }
    join_parts(a, &p, sum, T, N, false, stage[0]);
}

#endif
