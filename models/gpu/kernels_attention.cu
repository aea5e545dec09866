/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/kernels_attention.h"

#include "models/gpu/attend.h"
#include "models/gpu/operand.h"

KERNEL(angles, 128)
{
    after_previous();
    const int u = BLOCK_X;
    if (u >= a.batch->n) return;
    for (int i = THREAD; i < a.half; i += THREADS) {
        const double angle = a.batch->position[u] * a.frequency[i];
        a.table[2 * (u * a.half + i)] = (float)cos(angle);
        a.table[2 * (u * a.half + i) + 1] = (float)sin(angle);
    }
}

/* Stores two elements of a row of keys or values, `apart` from each other. */
DEVICE void put_two(void *row, bool bf16, int at, int apart, float x, float y)
{
    if (bf16) {
        ((uint16_t *)row)[at] = bf16_of_float(x);
        ((uint16_t *)row)[at + apart] = bf16_of_float(y);
    } else {
        ((float *)row)[at] = x;
        ((float *)row)[at + apart] = y;
    }
}

KERNEL(place, 256)
{
    after_previous();
    const int u = BLOCK_X, half = a.head_dim / 2, i = BLOCK_Y * THREADS + THREAD;
    const int head = i / half, pair = i % half, kv = head - a.n_heads;
    if (kv >= 2 * a.n_kv_heads) return;
    float *at = a.qkv + ((size_t)u * (size_t)(a.n_heads + 2 * a.n_kv_heads) + (size_t)head) *
                            (size_t)a.head_dim;
    const bool value = kv >= a.n_kv_heads, split = a.halves && !value;
    const int first = split ? pair : 2 * pair, apart = split ? half : 1;
    float x = at[first],
          y = at[first + apart]; /* loaded before we check whether the column exists */
    const float *angle = a.angles + 2 * ((size_t)u * (size_t)half + (size_t)pair);
    const float cosine = angle[0], sine = angle[1];
    if (u >= a.batch->n) return;
    if (!value) {
        const float rotated = fmaf(x, cosine, -(y * sine));
        y = fmaf(y, cosine, x * sine);
        x = rotated;
        at[first] = x;
        at[first + apart] = y;
    }
    if (kv < 0) return;
    const int plane = value ? 2 * (kv - a.n_kv_heads) + 1 : 2 * kv;
    const size_t row =
        ((size_t)plane * (size_t)a.slots + (size_t)a.batch->slot[u]) * (size_t)a.head_dim;
    put_two((char *)a.keys + row * (a.bf16 ? sizeof(uint16_t) : sizeof(float)), a.bf16, first,
            apart, x, y);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* The numbers are the fields of attend_constants, and the blocks resident per multiprocessor. */
#define ATTEND(name, words, eights, floats, whole, chunks, blocks)                                 \
    KERNEL_RESIDENT(name, 128, blocks)                                                             \
    {                                                                                              \
        SHARED quad query[ATTEND_PIECES * 2 * (words) * (eights)*32];                              \
        SHARED pair weight[ATTEND_PIECES * 128 * (eights)];                                        \
        SHARED float ranges[ATTEND_WARPS * 24 * (eights)], held[32 * (eights)];                    \
        SHARED int end[8 * (eights)];                                                              \
        after_previous();                                                                          \
        const attend_shared shared = {                                                             \
            query, &weight[0].x, ranges, ranges + ATTEND_WARPS * 16 * (eights), held, end};        \
        const attend_constants constants = {(words),  2 * (words), (eights),                       \
                                            (floats), (whole),     (chunks)};                      \
        attend(&a, &shared, constants);                                                            \
    }
ATTEND(attend_bf16_64_8, 1, 1, false, true, 1, 5)
ATTEND(attend_bf16_128_8, 2, 1, false, true, 1, 4)
ATTEND(attend_bf16_256_8, 4, 1, false, true, 1, 2)
ATTEND(attend_bf16_any_8, 4, 1, false, false, 1, 2)
ATTEND(attend_bf16_64_32, 1, 4, false, true, 1, 4)
ATTEND(attend_bf16_128_32, 2, 4, false, true, 1, 4)
ATTEND(attend_bf16_256_16, 4, 2, false, true, 1, 3)
ATTEND(attend_bf16_64_stretch, 1, 4, false, true, ATTEND_STRETCH, 3)
ATTEND(attend_bf16_128_stretch, 2, 4, false, true, ATTEND_STRETCH, 2)
ATTEND(attend_f32_64_8, 1, 1, true, false, 1, 4)
ATTEND(attend_f32_128_8, 2, 1, true, false, 1, 4)
ATTEND(attend_f32_256_8, 4, 1, true, false, 1, 2)

/* The partial result for a part of the sequence: four elements of the mixed values, of one or two
 * heads. */
typedef struct {
    float largest[2], sum[2], mixed[OPERAND_LANE];
} mixture;

/* Merges the next part of the sequence into the previous ones. */
DEVICE void join(mixture *before, const mixture *next)
{
    UNROLL
    for (int i = 0; i < 2; i++) {
        const attend_factors f =
            join_ranges(&before->largest[i], &before->sum[i], next->largest[i], next->sum[i]);
        before->mixed[2 * i] = join_mixed(before->mixed[2 * i], next->mixed[2 * i], f);
        before->mixed[2 * i + 1] = join_mixed(before->mixed[2 * i + 1], next->mixed[2 * i + 1], f);
    }
}

/* Returns elements at .. at + 3 of a column of the launch; past the end, the last ones. */
DEVICE mixture mixture_of(const struct combine_args *a, int part, int column, int at)
{
    const size_t row = ((size_t)part * (size_t)a->columns + (size_t)column) * (size_t)a->n_heads;
    mixture m;
    UNROLL
    for (int i = 0; i < 2; i++) {
        const int end = a->n_heads * a->head_dim, element = at + 2 * i < end ? at + 2 * i : end - 2;
        const pair range = load_pair(a->range + 2 * (row + (size_t)(element / a->head_dim)));
        const pair mixed = load_pair(a->mixed + row * (size_t)a->head_dim + (size_t)element);
        m.largest[i] = float_of_bits(range.x);
        m.sum[i] = float_of_bits(range.y);
        m.mixed[2 * i] = float_of_bits(mixed.x);
        m.mixed[2 * i + 1] = float_of_bits(mixed.y);
    }
    return m;
}

/* Warp w merges every fourth stretch, from stretch w on; then the results of the four warps are
 * merged in order. */
KERNEL(combine, 128)
{
    SHARED mixture others[ATTEND_WARPS - 1][WARP_LANES];
    after_previous();
    const int at = BLOCK_X * OPERAND_WARP + OPERAND_LANE * LANE, u = a.first + BLOCK_Y;
    if (u >= a.batch->n) return;
    const int size = ATTEND_CHUNK * a.chunks,
              parts = (positions_seen(a.batch, u) + size - 1) / size;
    const int stretches = (parts * a.chunks + ATTEND_STRETCH - 1) / ATTEND_STRETCH;
    const bool whole = a.chunks == ATTEND_STRETCH; /* parts are stretches */
    mixture all = {{0.0f, 0.0f}, {0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
    for (int s = WARP; s < stretches; s += whole ? ATTEND_STRETCH * ATTEND_WARPS : ATTEND_WARPS) {
        mixture
            /* loads that are issued together; past the end, the last part is loaded again */
            part[ATTEND_STRETCH];
        UNROLL
        for (int i = 0; i < ATTEND_STRETCH; i++) {
            const int p = whole ? s + i * ATTEND_WARPS : s * ATTEND_STRETCH + i;
            part[i] = mixture_of(&a, p < parts ? p : parts - 1, BLOCK_Y, at);
        }
        UNROLL
        for (int i = 1; i < ATTEND_STRETCH; i++)
            if (!whole && s * ATTEND_STRETCH + i < parts) join(&part[0], &part[i]);
        if (s == WARP) all = part[0];
        else join(&all, &part[0]);
        UNROLL
        for (int i = 1; i < ATTEND_STRETCH; i++)
            if (whole && s + i * ATTEND_WARPS < parts) join(&all, &part[i]);
    }
    if (WARP > 0) others[WARP - 1][LANE] = all;
    sync_block();
    if (WARP > 0) return;
    for (int w = 1; w < ATTEND_WARPS && w < stretches; w++) join(&all, &others[w - 1][LANE]);
    float value[OPERAND_LANE];
    UNROLL
    for (int i = 0; i < OPERAND_LANE; i++) value[i] = all.mixed[i] * (1.0f / all.sum[i / 2]);
    operand_write(a.o, a.format, true, u, a.n_heads * a.head_dim, at, value);
}

/* -- moving slots -- */

enum { KEEP_AHEAD = 4 };

/* A thread moves its unit in all slots, several slots at a time. A slot that one move reads may be
 * written by a later move but not by an earlier one, so a batch of moves can first read all its
 * sources. */
KERNEL(keep, 256)
{
    after_previous();
    const int i = BLOCK_X * THREADS + THREAD, plane = i / a.units, unit = i % a.units;
    if (plane >= a.planes) return;
    const size_t row_bytes = (size_t)a.units * (size_t)a.unit_bytes;
    char *rows = (char *)a.keys + (size_t)plane * (size_t)a.slots * row_bytes +
                 (size_t)unit * (size_t)a.unit_bytes;
    const bool wide = a.unit_bytes == (int)sizeof(quad);
    for (int k = 0; k < a.n; k += KEEP_AHEAD) {
        quad moved[KEEP_AHEAD];
        UNROLL
        for (int j = 0; j < KEEP_AHEAD; j++) {
            const char *from = rows + (size_t)a.from[k + j < a.n ? k + j : a.n - 1] * row_bytes;
            if (wide) moved[j] = load_quad(from);
            else moved[j].x = load_word(from);
        }
        UNROLL
        for (int j = 0; j < KEEP_AHEAD && k + j < a.n; j++) {
            char *to = rows + (size_t)(a.to + k + j) * row_bytes;
            if (wide) store_quad(to, moved[j]);
            else *(uint32_t *)to = moved[j].x;
        }
    }
}
