/* SPDX-License-Identifier: GPL-3.0-or-later */
/* attend_lanes: what one lane does in attention: it loads keys and values and multiplies them.
 * For attend.h. `a` are the kernel's arguments, `b` the block's columns and heads. In fragments, g
 * = lane/4 and q = lane%4. */
#ifndef SPECLAB_ATTEND_LANES_H
#define SPECLAB_ATTEND_LANES_H

#include "models/gpu/kernels_attention.h"
#include "models/gpu/simt.h"

enum {
    ATTEND_WARPS = 4,
    ATTEND_TILE = ATTEND_CHUNK / ATTEND_WARPS, /* positions: 16 */
    ATTEND_EIGHT = 8,                          /* queries per product */
    ATTEND_GROUP = 32, /* dimensions per two products; a lane has 8 of them */
    ATTEND_PIECES = 3, /* bf16 pieces per float */
    ATTEND_EIGHTS_MOST = 4,
    ATTEND_GROUPS_MOST = 8,
    ATTEND_WORDS_MOST = 4,   /* pairs of dimensions that a lane mixes */
    ATTEND_PRODUCTS_MOST = 8 /* products of 8 queries and ATTEND_WORDS_MOST words */
};

/* The constants of a kernel: loops over them unroll. */
typedef struct {
    int words;  /* 1, 2, 4 for head_dim up to 64, 128, 256 */
    int groups; /* 2 * words */
    int eights; /* of queries */
    bool floats;
    bool whole; /* head_dim is a multiple of 8 */
    int chunks; /* per part */
} attend_constants;

/* The columns and heads of a block. Each lane holds one of the columns from u on and the positions
 * that it sees. Query i belongs to column u + i / heads and head `head` + i % heads. */
typedef struct {
    int u, columns, head, heads, n_heads; /* n_heads: how many of the `heads` heads exist */
    int past, path, seen;                 /* of the lane's column; 0 if it has none */
    int longest;
    const char *keys, *values; /* of the kv head */
} attend_block;

DEVICE int positions_seen(const pass_batch *batch, int u)
{
    return batch->past[u] + batch->path_begin[u + 1] - batch->path_begin[u];
}

/* -- merging parts of a sequence, in order -- */

typedef struct {
    float before, now;
} attend_factors;

DEVICE attend_factors join_ranges(float *largest, float *sum, float next_largest, float next_sum)
{
    const float both = fmaxf(*largest, next_largest);
    const attend_factors f = {expf(*largest - both), expf(next_largest - both)};
    *sum = fmaf(*sum, f.before, next_sum * f.now);
    *largest = both;
    return f;
}

DEVICE float join_mixed(float before, float next, attend_factors f)
{
    return fmaf(before, f.before, next * f.now);
}

/* ---- keys and values in registers ------------------------------------------------------------ */

/* Loads 2 * words bf16 of a row from dimension d on; d and head_dim are even. Values from head_dim
 * on are arbitrary: they are multiplied by zeros or ignored. whole: head_dim is a multiple of 8, so
 * rows are read in large pieces. */
DEVICE void load_halves(uint32_t *to, const uint16_t *row, int d, int head_dim, const int words,
                        const bool whole)
{
    if (whole && words == 4) {
        const quad q = load_quad(row + (d < head_dim ? d : 0));
        to[0] = q.x, to[1] = q.y, to[2] = q.z, to[3] = q.w;
    } else if (whole && words == 2) {
        const pair p = load_pair(row + (d < head_dim ? d : 0));
        to[0] = p.x, to[1] = p.y;
    } else {
        UNROLL
        for (int i = 0; i < words; i++)
            to[i] = load_word(row + (d + 2 * i < head_dim ? d + 2 * i : 0));
    }
}

/* Loads `count` floats as bits; `count` is even. */
DEVICE void load_floats(uint32_t *to, const float *row, int d, int head_dim, const int count)
{
    UNROLL
    for (int i = 0; i < count; i += 2) {
        const pair p = load_pair(row + (d + i < head_dim ? d + i : 0));
        to[i] = p.x, to[i + 1] = p.y;
    }
}

/* Returns the upper half of a float as a bf16 piece, and leaves the exact remainder in x. */
DEVICE uint32_t take_piece(float *x)
{
    const uint32_t upper = bits_of_float(*x) & 0xffff0000u;
    *x -= float_of_bits(upper);
    return upper;
}

DEVICE void split_two(uint32_t *piece, float low, float high, const int stride)
{
    UNROLL
    for (int p = 0; p < ATTEND_PIECES; p++) {
        const uint32_t upper = take_piece(&high);
        piece[p * stride] = take_piece(&low) >> 16 | upper;
    }
}

/* -- slots of positions -- */

/* Returns a bit for each tile of a chunk in which some column has a position that is not in the
 * slot of the same number. */
DEVICE int displaced_tiles(const struct attend_args *a, const attend_block *b, int begin)
{
    int tiles = 0;
    const int end = b->seen < begin + ATTEND_CHUNK ? b->seen : begin + ATTEND_CHUNK;
    for (int t = b->past > begin ? b->past : begin; t < end; t++)
        if (a->batch->path[b->path + t - b->past] != t) tiles |= 1 << (t - begin) / ATTEND_TILE;
    UNROLL
    for (int apart = 1; apart < WARP_LANES; apart *= 2) tiles |= shuffle_xor_int(tiles, apart);
    return tiles;
}

/* Which positions to read for a tile: the positions of one column, or of all columns if slots equal
 * positions. */
typedef struct {
    int past, path, end;
} attend_view;

DEVICE attend_view view_of_all(const attend_block *b)
{
    const attend_view view = {b->longest, 0, b->longest};
    return view;
}

/* All lanes of a warp must call this. */
DEVICE attend_view view_of_column(const attend_block *b, int column)
{
    const attend_view view = {shuffle_from_int(b->past, column), shuffle_from_int(b->path, column),
                              shuffle_from_int(b->seen, column)};
    return view;
}

/* Returns the row of position t; past the end, that of the last position, whose weight is then
 * 0. */
DEVICE const char *row_of(const struct attend_args *a, const char *rows, const attend_view *view,
                          int t, const bool floats)
{
    if (t >= view->end) t = view->end - 1;
    const int slot = t < view->past ? t : a->batch->path[view->path + t - view->past];
    return rows + (uint32_t)slot *
                      (uint32_t)(a->head_dim * (int)(floats ? sizeof(float) : sizeof(uint16_t)));
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Loads a lane's keys, positions 2g and 2g + 1 of a tile: 8 dimensions of each group of 32. */
DEVICE void load_keys(uint32_t key[ATTEND_GROUPS_MOST][2][4], const struct attend_args *a,
                      const attend_block *b, const attend_view *view, int begin, const int groups,
                      const bool whole)
{
    UNROLL
    for (int r = 0; r < 2; r++) {
        const uint16_t *row =
            (const uint16_t *)row_of(a, b->keys, view, begin + LANE / 4 * 2 + r, false);
        UNROLL
        for (int i = 0; i < groups; i++)
            load_halves(key[i][r], row, i * ATTEND_GROUP + LANE % 4 * 8, a->head_dim, 4, whole);
    }
}

DEVICE void load_keys_split(uint32_t key[ATTEND_PIECES][2][4], const struct attend_args *a,
                            const attend_block *b, const attend_view *view, int begin, int group)
{
    UNROLL
    for (int r = 0; r < 2; r++) {
        const float *row = (const float *)row_of(a, b->keys, view, begin + LANE / 4 * 2 + r, true);
        uint32_t x[8];
        load_floats(x, row, group * ATTEND_GROUP + LANE % 4 * 8, a->head_dim, 8);
        UNROLL
        for (int i = 0; i < 4; i++)
            split_two(&key[0][r][i], float_of_bits(x[2 * i]), float_of_bits(x[2 * i + 1]), 8);
    }
}

/* Adds both products of a group of 32 dimensions. */
DEVICE void multiply_keys(float *score, uint32_t key[2][4], quad query)
{
    const uint32_t a[2][4] = {{key[0][0], key[1][0], key[0][1], key[1][1]},
                              {key[0][2], key[1][2], key[0][3], key[1][3]}};
    const uint32_t b[2][2] = {{query.x, query.y}, {query.z, query.w}};
    mma_bf16(score, a[0], b[0]);
    mma_bf16(score, a[1], b[1]);
}

/* Computes the scores of 8 queries in a tile: [0], [1] of position 2g, [2], [3] of 2g + 1, with
 * queries 2q and 2q + 1 of the group of eight, whose first one is `query`. Products of pieces are
 * summed separately for each order of magnitude. */
DEVICE void score_eight(float score[4], uint32_t key[ATTEND_GROUPS_MOST][2][4],
                        const struct attend_args *a, const attend_block *b, const attend_view *view,
                        int begin, const quad *query, const attend_constants c)
{
    float sum[ATTEND_PIECES][4] = {{0.0f}};
    UNROLL
    for (int i = 0; i < c.groups; i++) {
        uint32_t split[ATTEND_PIECES][2][4];
        if (c.floats) load_keys_split(split, a, b, view, begin, i);
        UNROLL
        for (int p = 0; p < ATTEND_PIECES; p++) {
            const quad part = query[(p * c.groups + i) * c.eights * ATTEND_EIGHT * 4 + LANE];
            if (c.floats) {
                UNROLL
                for (int k = 0; k + p < ATTEND_PIECES; k++)
                    multiply_keys(sum[p + k], split[k], part);
            } else {
                multiply_keys(sum[p], key[i], part);
            }
        }
    }
    UNROLL
    for (int j = 0; j < 4; j++) score[j] = sum[0][j] + (sum[1][j] + sum[2][j]);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Loads a lane's values of a tile: positions 4q .. 4q + 3, 2 * words dimensions from d on (for
 * floats 4 * words). */
DEVICE void load_values(uint32_t value[4][2 * ATTEND_WORDS_MOST], const struct attend_args *a,
                        const attend_block *b, const attend_view *view, int begin, int d,
                        const attend_constants c)
{
    UNROLL
    for (int r = 0; r < 4; r++) {
        const char *row = row_of(a, b->values, view, begin + LANE % 4 * 4 + r, c.floats);
        if (c.floats)
            load_floats(value[r], (const float *)row, d, a->head_dim, 2 * c.words);
        else
            load_halves(value[r], (const uint16_t *)row, d, a->head_dim, c.words, c.whole);
    }
}

/* Builds the fragments of dimension 2 * word (product rows g) and of the next one (rows g + 8) at
 * the four positions; for floats, of one piece. */
DEVICE void take_values(uint32_t part[ATTEND_PIECES][4], uint32_t value[4][2 * ATTEND_WORDS_MOST],
                        const int word, const bool floats)
{
    UNROLL
    for (int r = 0; r < 4; r += 2) {
        if (floats) {
            UNROLL
            for (int odd = 0; odd < 2; odd++)
                split_two(&part[0][r + odd], float_of_bits(value[r][2 * word + odd]),
                          float_of_bits(value[r + 1][2 * word + odd]), 4);
        } else {
            part[0][r] = (value[r][word] & 0xffffu) | value[r + 1][word] << 16;
            part[0][r + 1] = value[r][word] >> 16 | (value[r + 1][word] & 0xffff0000u);
        }
    }
}

/* mixed += weighted values of a tile: [0], [1] of dimension 2 * word, [2], [3] of the next, for two
 * queries. */
DEVICE void mix_eight(float mixed[4], uint32_t part[ATTEND_PIECES][4], const uint32_t *weight,
                      int tile, int eight, const int eights, const bool floats)
{
    UNROLL
    for (int p = 0; p < ATTEND_PIECES; p++) {
        const pair two = load_pair(
            weight + (((p * eights + eight) * ATTEND_WARPS + tile) * WARP_LANES + LANE) * 2);
        const uint32_t b[2] = {two.x, two.y};
        UNROLL
        for (int k = 0; k + p < ATTEND_PIECES; k++)
            if (k == 0 || floats) mma_bf16(mixed, part[k], b);
    }
}

#endif
