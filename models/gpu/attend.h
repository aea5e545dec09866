/* SPDX-License-Identifier: GPL-3.0-or-later */
/* attend: computes attention for a tile of queries over one KV head, split along the sequence.
 * This is the body of the kernels attend_* (kernels_attention.h), which differ only in constants.
 *
 * The block's 4 warps process a chunk together; each key and value is read once, by one lane.
 * Scores: warp w multiplies the 16 keys of its tile of positions with all queries. Weights: each is
 * exp(score - largest score of the chunk). Mixing: warp w computes its quarter of the dimensions
 * over all positions. Matrix units multiply bf16; the rows of a matrix are keys or dimensions, its
 * columns queries. A float is split into three bf16 that add up to it, which keeps the precision of
 * floats. The position of a query's numbers in these products does not depend on the other queries
 * of the block. */
#ifndef SPECLAB_ATTEND_H
#define SPECLAB_ATTEND_H

#include "models/gpu/attend_lanes.h"

/* Shared memory of a block for `queries` queries. Queries and weights are in bf16 pieces. */
typedef struct {
    quad *query;      /* (pieces, groups, queries, 4) */
    uint32_t *weight; /* (pieces, eights, tiles, 8, 8) */
    float *largest;   /* (2, tiles, queries), for even and odd chunks: one is read while the other
                       * is written */
    float *sum;       /* (tiles, queries) */
    float *held; /* (2, queries, 2): largest and sum of the part up to now, for odd and even
                    chunks */
    int *end;         /* (queries) number of visible positions */
} attend_shared;

/* ---- a block --------------------------------------------------------------------------------- */

/* Every warp computes which columns the block has and which positions they see. */
DEVICE attend_block block_of(const struct attend_args *a, const bool floats)
{
    const int group = a->n_heads / a->n_kv_heads, pieces = (group + a->heads - 1) / a->heads,
              kv_head = BLOCK_Y / pieces;
    const int last = a->batch->n < a->first + a->columns ? a->batch->n : a->first + a->columns;
    const size_t plane =
        (size_t)a->slots * (size_t)a->head_dim * (floats ? sizeof(float) : sizeof(uint16_t));
    attend_block b;
    b.u = a->first + BLOCK_Z * a->block_columns;
    b.columns = last - b.u < a->block_columns ? last - b.u : a->block_columns;
    b.head = BLOCK_Y % pieces * a->heads;
    b.heads = a->heads;
    b.n_heads = group - b.head < a->heads ? group - b.head : a->heads;
    b.head += kv_head * group;
    b.past = b.path = b.seen = 0;
    if (LANE < b.columns) {
        b.past = a->batch->past[b.u + LANE];
        b.path = a->batch->path_begin[b.u + LANE];
        b.seen = b.past + a->batch->path_begin[b.u + LANE + 1] - b.path;
    }
    b.longest = b.seen;
    UNROLL
    for (int apart = 1; apart < WARP_LANES; apart *= 2) {
        const int other = shuffle_xor_int(b.longest, apart);
        b.longest = other > b.longest ? other : b.longest;
    }
    b.keys = (const char *)a->keys + 2 * (size_t)kv_head * plane;
    b.values = b.keys + plane;
    return b;
}

/* Returns whether a group of eight queries is empty. */
DEVICE bool is_idle(const attend_block *b, int eight)
{
    return eight * ATTEND_EIGHT >= b->columns * b->heads;
}

/* Stages the queries in three pieces (missing queries as zeros), and their visible lengths. */
DEVICE void stage_queries(const attend_shared *shared, const struct attend_args *a,
                          const attend_block *b, const int groups, const int eights)
{
    const int queries = eights * ATTEND_EIGHT,
              width = (a->n_heads + 2 * a->n_kv_heads) * a->head_dim;
    if (WARP == 0) {
        const int column = LANE / b->heads, end = shuffle_from_int(b->seen, column);
        if (LANE < queries)
            shared->end[LANE] = column < b->columns && LANE % b->heads < b->n_heads ? end : 0;
    }
    for (int i = THREAD; i < queries * groups * 4; i += THREADS) {
        const int octet = i % (groups * 4), which = i / (groups * 4), column = which / b->heads;
        const int head = which % b->heads;
        const bool there = column < b->columns && head < b->n_heads;
        if (is_idle(b, which / ATTEND_EIGHT)) continue;
        const float *from = a->qkv + (size_t)(b->u + column) * (size_t)width +
                            (size_t)((b->head + head) * a->head_dim);
        uint32_t x[8], split[ATTEND_PIECES][4];
        UNROLL
        for (int j = 0; j < 8; j++) x[j] = 0;
        if (there && octet * 8 < a->head_dim) load_floats(x, from, octet * 8, a->head_dim, 8);
        UNROLL
        for (int j = 0; j < 8; j++)
            x[j] = octet * 8 + j < a->head_dim ? bits_of_float(float_of_bits(x[j]) * a->scale) : 0;
        UNROLL
        for (int j = 0; j < 4; j++)
            split_two(&split[0][j], float_of_bits(x[2 * j]), float_of_bits(x[2 * j + 1]), 4);
        UNROLL
        for (int p = 0; p < ATTEND_PIECES; p++) {
            const quad part = {split[p][0], split[p][1], split[p][2], split[p][3]};
            shared->query[((p * groups + octet / 4) * queries + which) * 4 + octet % 4] = part;
        }
    }
}

/* Returns whether a group of eight queries has a query of this column. */
DEVICE bool has_column(const attend_block *b, int eight, int column)
{
    return column * b->heads < (eight + 1) * ATTEND_EIGHT &&
           (column + 1) * b->heads > eight * ATTEND_EIGHT;
}

/* Returns the column of a lane's first or second query in a group of eight. */
DEVICE int column_of(const attend_block *b, int eight, int second)
{
    return (eight * ATTEND_EIGHT + LANE % 4 * 2 + second) / b->heads;
}

/* Returns the first of the staged queries of a group of eight. */
DEVICE const quad *eight_of(const quad *query, int eight)
{
    return query + eight * ATTEND_EIGHT * 4;
}

DEVICE void score_columns(float score[ATTEND_EIGHTS_MOST][4], const struct attend_args *a,
                          const attend_block *b, int begin, const quad *query,
                          const attend_constants c)
{
    for (int column = 0; column < b->columns; column++) {
        const attend_view view = view_of_column(b, column);
        uint32_t key[ATTEND_GROUPS_MOST][2][4];
        if (begin >= view.end) continue;
        if (!c.floats) load_keys(key, a, b, &view, begin, c.groups, c.whole);
        UNROLL
        for (int e = 0; e < c.eights; e++) {
            float own[4];
            if (!has_column(b, e, column)) continue;
            score_eight(own, key, a, b, &view, begin, eight_of(query, e), c);
            UNROLL
            for (int j = 0; j < 4; j++)
                if (column_of(b, e, j % 2) == column) score[e][j] = own[j];
        }
    }
}

DEVICE void mix_columns(float mixed[ATTEND_PRODUCTS_MOST][4], const struct attend_args *a,
                        const attend_block *b, int begin, int tile, int d, const uint32_t *weight,
                        const attend_constants c)
{
    for (int column = 0; column < b->columns; column++) {
        const attend_view view = view_of_column(b, column);
        uint32_t value[4][2 * ATTEND_WORDS_MOST];
        if (begin >= view.end) continue;
        load_values(value, a, b, &view, begin, d, c);
        UNROLL
        for (int w = 0; w < c.words; w++) {
            uint32_t part[ATTEND_PIECES][4];
            take_values(part, value, w, c.floats);
            UNROLL
            for (int e = 0; e < c.eights; e++) {
                float *all = mixed[w * c.eights + e], own[4] = {all[0], all[1], all[2], all[3]};
                if (!has_column(b, e, column)) continue;
                mix_eight(own, part, weight, tile, e, c.eights, c.floats);
                UNROLL
                for (int j = 0; j < 4; j++)
                    if (column_of(b, e, j % 2) == column) all[j] = own[j];
            }
        }
    }
}

/* Returns whether a warp has mixed a NaN or infinity. Such a value spoils all queries of its
 * product, because even 0 times it is NaN. The columns are then mixed one by one. */
DEVICE bool is_spoilt(float mixed[ATTEND_PRODUCTS_MOST][4], const int products)
{
    float all = 0.0f;
    UNROLL
    for (int i = 0; i < 4 * products; i++) all += mixed[i / 4][i % 4];
    return vote_any(all != all);
}

/* Returns where the largest score of a query in a warp's tile of a chunk is stored. */
DEVICE float *tile_largest(const attend_shared *shared, int chunk, int warp, int query,
                           const int queries)
{
    return shared->largest + (chunk % 2 * ATTEND_WARPS + warp) * queries + query;
}

DEVICE float chunk_largest(const attend_shared *shared, int chunk, int query, const int queries)
{
    float largest = *tile_largest(shared, chunk, 0, query, queries);
    UNROLL
    for (int w = 1; w < ATTEND_WARPS; w++)
        largest = fmaxf(largest, *tile_largest(shared, chunk, w, query, queries));
    return largest;
}

/* Returns the index of a query's part in the results. */
DEVICE size_t part_of(const struct attend_args *a, const attend_block *b, int query)
{
    const int column = b->u - a->first + query / b->heads, head = b->head + query % b->heads;
    return ((size_t)BLOCK_X * (size_t)a->columns + (size_t)column) * (size_t)a->n_heads +
           (size_t)head;
}

/* Merges the largest score and the sum of a chunk into those of the part so far, and stores the
 * result. */
DEVICE attend_factors hold_range(const struct attend_args *a, const attend_block *b,
                                 const attend_shared *shared, int query, int chunk,
                                 const int queries)
{
    attend_factors f = {0.0f, 1.0f};
    float largest = chunk_largest(shared, chunk, query, queries), sum = shared->sum[query];
    UNROLL
    for (int w = 1; w < ATTEND_WARPS; w++) sum += shared->sum[w * queries + query];
    if (chunk > 0) {
        const float *before = shared->held + (chunk % 2 * queries + query) * 2;
        float so_far = before[0], so_far_sum = before[1];
        f = join_ranges(&so_far, &so_far_sum, largest, sum);
        largest = so_far, sum = so_far_sum;
    }
    if (WARP == 0 && LANE < 4) {
        float *after = shared->held + ((chunk + 1) % 2 * queries + query) * 2;
        after[0] = largest, after[1] = sum;
        const pair range = {bits_of_float(largest), bits_of_float(sum)};
        store_pair(a->range + 2 * part_of(a, b, query), range);
    }
    return f;
}

/* Returns the index in the block of a lane's first or second query in a group of eight. */
DEVICE int query_of(int eight, int second)
{
    return eight * ATTEND_EIGHT + LANE % 4 * 2 + second;
}

/* Turns scores into weights, in three pieces in shared memory. Contains two barriers. */
DEVICE void weigh(const attend_shared *shared, float score[ATTEND_EIGHTS_MOST][4],
                  const attend_block *b, int begin, int chunk, const int eights)
{
    const int queries = eights * ATTEND_EIGHT, position = begin + WARP * ATTEND_TILE + LANE / 4 * 2;
    UNROLL
    for (int e = 0; e < eights; e++) {
        if (is_idle(b, e)) continue;
        UNROLL
        for (int i = 0; i < 2; i++) {
            const int end = shared->end[query_of(e, i)];
            if (position >= end) score[e][i] = -INFINITY;
            if (position + 1 >= end) score[e][2 + i] = -INFINITY;
            float most = fmaxf(score[e][i], score[e][2 + i]);
            UNROLL
            for (int apart = 4; apart < WARP_LANES; apart *= 2)
                most = fmaxf(most, shuffle_xor(most, apart));
            if (LANE < 4) *tile_largest(shared, chunk, WARP, query_of(e, i), queries) = most;
        }
    }
    sync_block();
    UNROLL
    for (int e = 0; e < eights; e++) {
        if (is_idle(b, e)) continue;
        UNROLL
        for (int i = 0; i < 2; i++) {
            const float largest = chunk_largest(shared, chunk, query_of(e, i), queries);
            const float first = score[e][i] > -INFINITY || score[e][i] != score[e][i]
                                    ? expf(score[e][i] - largest)
                                    : 0.0f;
            const float second = score[e][2 + i] > -INFINITY || score[e][2 + i] != score[e][2 + i]
                                     ? expf(score[e][2 + i] - largest)
                                     : 0.0f;
            float all = first + second;
            UNROLL
            for (int apart = 4; apart < WARP_LANES; apart *= 2) all += shuffle_xor(all, apart);
            if (LANE < 4) shared->sum[WARP * queries + query_of(e, i)] = all;
            split_two(
                &shared->weight[((e * ATTEND_WARPS + WARP) * ATTEND_EIGHT + LANE % 4 * 2 + i) * 8 +
                                LANE / 4],
                first, second, eights * ATTEND_WARPS * ATTEND_EIGHT * 8);
        }
    }
    sync_block();
}

DEVICE void attend(const struct attend_args *a, const attend_shared *shared,
                   const attend_constants c)
{
    const int words = c.words, eights = c.eights, chunks = c.chunks;
    const bool floats = c.floats;
    /* first dimension of the lane's values */
    const int d = WARP * words * ATTEND_TILE + LANE / 4 * 2 * words;
    const int queries = eights * ATTEND_EIGHT, first = BLOCK_X * chunks * ATTEND_CHUNK;
    const attend_block b = block_of(a, floats);
    if (b.columns <= 0 || first >= b.longest) return;
    const attend_view view = view_of_all(&b);
    float mixed[ATTEND_PRODUCTS_MOST][4];
    ONE_BY_ONE
    for (int chunk = 0; chunk < chunks; chunk++) {
        const int begin = first + chunk * ATTEND_CHUNK, tile = begin + WARP * ATTEND_TILE;
        if (begin >= b.longest) break;
        const bool straight = displaced_tiles(a, &b, begin) == 0,
                   ahead = straight && !floats && words <= 2 && eights == 1;
        uint32_t key[ATTEND_GROUPS_MOST][2][4], value[ATTEND_WARPS][4][2 * ATTEND_WORDS_MOST];
        float score[ATTEND_EIGHTS_MOST][4] = {{0.0f}}, now[ATTEND_PRODUCTS_MOST][4] = {{0.0f}};
        if (straight && !floats) load_keys(key, a, &b, &view, tile, c.groups, c.whole);
        if (ahead) {
            UNROLL
            for (int w = 0; w < ATTEND_WARPS; w++)
                load_values(value[w], a, &b, &view, begin + w * ATTEND_TILE, d, c);
        }
        if (chunk == 0) {
            stage_queries(shared, a, &b, c.groups, eights);
            sync_block();
        }
        if (straight) {
            UNROLL
            for (int e = 0; e < eights; e++)
                if (!is_idle(&b, e))
                    score_eight(score[e], key, a, &b, &view, tile, eight_of(shared->query, e), c);
        } else {
            score_columns(score, a, &b, tile, shared->query, c);
        }
        weigh(shared, score, &b, begin, chunk, eights);
        UNROLL
        for (int w = 0; w < ATTEND_WARPS; w++) {
            if (!straight) continue;
            if (!ahead) load_values(value[w], a, &b, &view, begin + w * ATTEND_TILE, d, c);
            UNROLL
            for (int i = 0; i < words; i++) {
                uint32_t part[ATTEND_PIECES][4];
                take_values(part, value[w], i, floats);
                UNROLL
                for (int e = 0; e < eights; e++)
                    if (!is_idle(&b, e))
                        mix_eight(now[i * eights + e], part, shared->weight, w, e, eights, floats);
            }
        }
        const bool spoilt = straight && is_spoilt(now, words * eights);
        UNROLL
        for (int i = 0; i < 4 * words * eights; i++)
            now[i / 4][i % 4] = spoilt ? 0.0f : now[i / 4][i % 4];
        ONE_BY_ONE
        for (int w = 0; w < ATTEND_WARPS && (spoilt || !straight); w++)
            mix_columns(now, a, &b, begin + w * ATTEND_TILE, w, d, shared->weight, c);
        UNROLL
        for (int e = 0; e < eights; e++) {
            UNROLL
            for (int i = 0; i < 2; i++) {
                const int query = query_of(e, i);
                if (is_idle(&b, e) || begin >= shared->end[query]) continue;
                const attend_factors f = hold_range(a, &b, shared, query, chunk, queries);
                UNROLL
                for (int w = 0; w < words; w++) {
                    float *all = mixed[w * eights + e];
                    const float *next = now[w * eights + e];
                    all[i] = chunk == 0 ? next[i] : join_mixed(all[i], next[i], f);
                    all[2 + i] = chunk == 0 ? next[2 + i] : join_mixed(all[2 + i], next[2 + i], f);
                }
            }
        }
    }
    UNROLL
    for (int e = 0; e < eights; e++) {
        UNROLL
        for (int i = 0; i < 2; i++) {
            if (is_idle(&b, e) || first >= shared->end[query_of(e, i)]) continue;
            float *to = a->mixed + part_of(a, &b, query_of(e, i)) * (size_t)a->head_dim;
            UNROLL
            for (int w = 0; w < words; w++) {
                const float *all = mixed[w * eights + e];
                const pair two = {bits_of_float(all[i]), bits_of_float(all[2 + i])};
                if (d + 2 * w < a->head_dim) store_pair(to + d + 2 * w, two);
            }
        }
    }
}

#endif
