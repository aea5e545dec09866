/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vector_wide: the vector kernels, for vectors of FLOATS floats and DOUBLES doubles.
 * The including file defines the operations; internal to models/transformer/kernels/vector_avx2.c,
 * vector_avx512.c and vector_neon.c. The 16 lanes of a sum are 16 / FLOATS vectors (PARTS), or 16 /
 * DOUBLES (PARTS_DOUBLE). */
#include "models/transformer/kernels/vector_parts.h"

#include <stdint.h>
#include <string.h>

enum {
    LANES = SPEC_VECTOR_LANES,
    PARTS = LANES / FLOATS,
    PARTS_DOUBLE = LANES / DOUBLES,
    KEYS = 4,         /* keys by which a query is multiplied at a time */
    AHEAD = 64,       /* rows of prefetch distance, */
    AHEAD_OF_ONE = 8, /* for one query */
    TILE = 32, /* positions whose values stay in the first-level cache while all heads mix them */
    GROUPS = 4 /* groups of 16 values mixed in registers */
};

#define INLINE static inline __attribute__((always_inline))

/* Returns x[0..n-1], n < 16, followed by `fill`. */
INLINE const float *padded(float *room, const float *x, int n, float fill)
{
    for (int i = 0; i < LANES; i++) room[i] = i < n ? x[i] : fill;
    return room;
}

INLINE floats exp_floats(floats x)
{
    x = smaller(all(SPEC_EXP_MOST), larger(all(SPEC_EXP_LEAST), x));
    const floats shifted = fused(x, all(SPEC_EXP_STEPS), all(SPEC_EXP_ROUND)),
                 k = minus(shifted, all(SPEC_EXP_ROUND));
    const floats r = fused(k, all(-SPEC_EXP_STEP_REST), fused(k, all(-SPEC_EXP_STEP), x));
    floats sum = all(spec_exp_term[0]);
    for (int i = 1; i < SPEC_EXP_TERMS; i++) sum = fused(sum, r, all(spec_exp_term[i]));
    sum = plus(fused(sum, times(r, r), r), all(1.0f));
    return times(times(sum, half_power(shifted)), all(2.0f));
}

INLINE doubles exp_doubles(doubles x)
{
    const doubles shifted =
        fused_double(x, all_double(SPEC_EXP_DOUBLE_STEPS), all_double(SPEC_EXP_DOUBLE_ROUND));
    const doubles k = minus_double(shifted, all_double(SPEC_EXP_DOUBLE_ROUND));
    const doubles r = fused_double(k, all_double(-SPEC_EXP_DOUBLE_STEP_REST),
                                   fused_double(k, all_double(-SPEC_EXP_DOUBLE_STEP), x));
    const doubles scale = eighth_power(shifted);
    doubles sum = all_double(spec_exp_double_term[0]);
    for (int i = 1; i < SPEC_EXP_DOUBLE_TERMS; i++)
        sum = fused_double(sum, r, all_double(spec_exp_double_term[i]));
    return unless_less(x, all_double(SPEC_EXP_DOUBLE_LEAST),
                       fused_double(scale, fused_double(sum, times_double(r, r), r), scale));
}

static void norm(float *y, const float *x, const float *gain, float eps, int n)
{
    doubles sum[PARTS_DOUBLE];
    float room[LANES];
    int i = 0;
    for (int p = 0; p < PARTS_DOUBLE; p++) sum[p] = all_double(0.0);
    for (; i < n; i += LANES) {
        const float *from = n - i < LANES ? padded(room, x + i, n - i, 0.0f) : x + i;
        for (int p = 0; p < PARTS_DOUBLE; p++) {
            const doubles v = widened(from + p * DOUBLES);
            sum[p] = fused_double(v, v, sum[p]);
        }
    }
    const float s = (float)(1.0 / sqrt(added_double(sum) / n + (double)eps));
    for (i = 0; i + FLOATS <= n; i += FLOATS)
        store(y + i, times(times(load(x + i), all(s)), load(gain + i)));
    for (; i < n; i++) y[i] = x[i] * s * gain[i];
}

static void rotate(float *head, const float *cosine, const float *sine, spec_rope_pairs pairs,
                   int head_dim)
{
    const int half = head_dim / 2;
    int i = 0;
    if (pairs == SPEC_ROPE_ADJACENT) {
        for (; i + FLOATS / 2 <= half; i += FLOATS / 2) {
            const floats x = load(head + 2 * i);
            store(head + 2 * i,
                  fused_minus_plus(x, twice(cosine + i), times(exchanged(x), twice(sine + i))));
        }
    } else {
        for (; i + FLOATS <= half; i += FLOATS) {
            const floats a = load(head + i), b = load(head + half + i), c = load(cosine + i),
                         s = load(sine + i);
            store(head + i, fused(a, c, minus(all(-0.0f), times(b, s))));
            store(head + half + i, fused(b, c, times(a, s)));
        }
    }
    spec_vector_rotate_from(i, head, cosine, sine, pairs, head_dim);
}

/* Returns how many rows ahead to prefetch, a number found by measuring. If there are few rows, it
 * reaches into the next block. */
INLINE int fetched_ahead(int heads, int n)
{
    return n <= AHEAD ? n : heads == 1 ? AHEAD_OF_ONE : AHEAD;
}

/* Returns how far the row to prefetch is from row t of n. After the last row come the rows of the
 * next block. */
INLINE size_t rows_behind(int t, int n, int ahead)
{
    return (size_t)(t + ahead < n ? ahead : SPEC_VECTOR_BLOCK - n + ahead);
}

/* Prefetches into the second-level cache; the address may be invalid. */
INLINE void fetch(const float *row, size_t rows, size_t width, int groups)
{
    const uintptr_t from = (uintptr_t)row + rows * width * sizeof *row;
    for (int g = 0; g < groups; g++)
        __builtin_prefetch((const void *)(from + (size_t)g * LANES * sizeof *row), 0, 2);
}

/* Computes the scores of KEYS keys for one query. */
INLINE void score_keys(float *score, const float *query, const float *const *key, int groups)
{
    floats sum[KEYS][PARTS];
    for (int i = 0; i < KEYS; i++)
        for (int p = 0; p < PARTS; p++) sum[i][p] = all(0.0f);
    for (int at = 0; at < groups * LANES; at += LANES)
        for (int p = 0; p < PARTS; p++) {
            const floats q = load(query + at + p * FLOATS);
            for (int i = 0; i < KEYS; i++)
                sum[i][p] = fused(q, load(key[i] + at + p * FLOATS), sum[i][p]);
        }
    added4(score, sum);
}

INLINE void score_all(float *ret_score, const float *query, int heads, int groups,
                      const float *keys, const int *slot, int n)
{
    const int width = groups * LANES, ahead = fetched_ahead(heads, n);
    for (int t = 0; t < n; t += KEYS) {
        const float *key[KEYS];
        for (int i = 0; i < KEYS; i++) {
            key[i] = keys + (size_t)slot[t + i < n ? t + i : n - 1] * (size_t)width;
            fetch(key[i], rows_behind(t + i, n, ahead), (size_t)width, groups);
        }
        for (int h = 0; h < heads; h++) {
            float four_scores[KEYS], *to = ret_score + h * SPEC_VECTOR_BLOCK + t;
            if (t + KEYS <= n) {
                score_keys(to, query + h * width, key, groups);
            } else {
                score_keys(four_scores, query + h * width, key, groups);
                memcpy(to, four_scores, (size_t)(n - t) * sizeof *to);
            }
        }
    }
}

static void score(float *ret_score, const float *query, int heads, int width, const float *key,
                  const int *slot, int n)
{
    switch (width / LANES) { /* known widths unroll */
    case 4: score_all(ret_score, query, heads, 4, key, slot, n); break;
    case 8: score_all(ret_score, query, heads, 8, key, slot, n); break;
    default: score_all(ret_score, query, heads, width / LANES, key, slot, n); break;
    }
}

static void weigh(float *ret_largest, float *ret_sum, float *weight, int n)
{
    floats largest = all(-INFINITY), sum[PARTS];
    float room[LANES];
    for (int i = n; i % LANES != 0; i++) weight[i] = -INFINITY;
    for (int i = 0; i < n; i += LANES)
        for (int p = 0; p < PARTS; p++) largest = larger(load(weight + i + p * FLOATS), largest);
    store(room, largest);
    *ret_largest = room[0];
    for (int l = 1; l < FLOATS; l++) *ret_largest = room[l] > *ret_largest ? room[l] : *ret_largest;
    largest = all(*ret_largest);
    for (int p = 0; p < PARTS; p++) sum[p] = all(0.0f);
    for (int i = 0; i < n; i += LANES)
        for (int p = 0; p < PARTS; p++) {
            const floats e = exp_floats(minus(load(weight + i + p * FLOATS), largest));
            store(weight + i + p * FLOATS, e);
            sum[p] = plus(sum[p], e);
        }
    *ret_sum = added(sum);
}

/* Positions begin..end-1 of n, which one head mixes together. */
typedef struct {
    const int *slot;
    int n, begin, end;
    int from, to, ahead; /* the head prefetches after positions from..to-1 */
} mixed_tile;

/* Mixes a tile for `groups` groups of 16 values, in registers. */
INLINE void mix_groups(float *mixed, const float *weight, const float *values, size_t width,
                       const mixed_tile *tile, int groups)
{
    floats sum[GROUPS * PARTS];
    for (int g = 0; g < groups * PARTS; g++) sum[g] = load(mixed + g * FLOATS);
    for (int t = tile->begin; t < tile->end; t++) {
        const float *value = values + (size_t)tile->slot[t] * width;
        const floats w = all(weight[t]);
        if (tile->from <= t && t < tile->to)
            fetch(value, rows_behind(t, tile->n, tile->ahead), width, groups);
        for (int g = 0; g < groups * PARTS; g++)
            sum[g] = fused(w, load(value + g * FLOATS), sum[g]);
    }
    for (int g = 0; g < groups * PARTS; g++) store(mixed + g * FLOATS, sum[g]);
}

static void mix(float *mixed, const float *weight, int heads, int width, const float *value,
                const int *slot, int n)
{
    const int ahead = fetched_ahead(heads, n);
    for (int begin = 0; begin < n; begin += TILE) {
        const int size = n - begin < TILE ? n - begin : TILE;
        for (int h = 0; h < heads; h++) {
            const float *w = weight + h * SPEC_VECTOR_BLOCK;
            float *out = mixed + h * width;
            const mixed_tile tile = {.slot = slot,
                                     .n = n,
                                     .begin = begin,
                                     .end = begin + size,
                                     .from = begin + size * h / heads,
                                     .to = begin + size * (h + 1) / heads,
                                     .ahead = ahead};
            int at = 0;
            for (; at + GROUPS * LANES <= width; at += GROUPS * LANES)
                mix_groups(out + at, w, value + at, (size_t)width, &tile, GROUPS);
            for (; at < width; at += LANES)
                mix_groups(out + at, w, value + at, (size_t)width, &tile, 1);
        }
    }
}

INLINE floats gated(floats a, floats b)
{
    return times(over(a, plus(all(1.0f), exp_floats(minus(all(-0.0f), a)))), b);
}

static void gate(float *y, const float *a, const float *b, int n)
{
    int i = 0;
    for (; i + FLOATS <= n; i += FLOATS) store(y + i, gated(load(a + i), load(b + i)));
    if (i == n) return;
    float rest[2][LANES];
    padded(rest[0], a + i, n - i, 0.0f);
    padded(rest[1], b + i, n - i, 0.0f);
    store(rest[0], gated(load(rest[0]), load(rest[1])));
    memcpy(y + i, rest[0], (size_t)(n - i) * sizeof *y);
}

INLINE floats gelu_gated(floats a, floats b)
{
    const floats power = times(a, fused(times(a, a), all(SPEC_GELU_CUBIC), all(SPEC_GELU_LINEAR)));
    return times(over(a, plus(all(1.0f), exp_floats(power))), b);
}

static void gelu_gate(float *y, const float *a, const float *b, int n)
{
    int i = 0;
    for (; i + FLOATS <= n; i += FLOATS) store(y + i, gelu_gated(load(a + i), load(b + i)));
    if (i == n) return;
    float rest[2][LANES];
    padded(rest[0], a + i, n - i, 0.0f);
    padded(rest[1], b + i, n - i, 0.0f);
    store(rest[0], gelu_gated(load(rest[0]), load(rest[1])));
    memcpy(y + i, rest[0], (size_t)(n - i) * sizeof *y);
}

INLINE floats capped(floats x, float most, float factor)
{
    const floats share = over(all(1.0f), plus(all(1.0f), exp_floats(times(x, all(factor)))));
    return fused(all(-2.0f * most), share, all(most));
}

static void cap(float *x, float most, int n)
{
    const float factor = 2.0f / most;
    int i = 0;
    for (; i + FLOATS <= n; i += FLOATS) store(x + i, capped(load(x + i), most, factor));
    if (i == n) return;
    float rest[LANES];
    padded(rest, x + i, n - i, 0.0f);
    store(rest, capped(load(rest), most, factor));
    memcpy(x + i, rest, (size_t)(n - i) * sizeof *x);
}

static bool largest_of(float *ret_largest, const float *x, int n)
{
    floats largest[4], zero[4]; /* x - x is NaN if x is infinite or NaN */
    float room[LANES], found[LANES], zeros[LANES];
    for (int k = 0; k < 4; k++) {
        largest[k] = all(x[0]);
        zero[k] = all(0.0f);
    }
    int i = 0;
    for (; i + 4 * FLOATS <= n; i += 4 * FLOATS)
        for (int k = 0; k < 4; k++) {
            const floats v = load(x + i + k * FLOATS);
            largest[k] = larger(v, largest[k]);
            zero[k] = plus(zero[k], minus(v, v));
        }
    for (; i < n; i += FLOATS) {
        const floats v = load(n - i < FLOATS ? padded(room, x + i, n - i, x[0]) : x + i);
        largest[0] = larger(v, largest[0]);
        zero[0] = plus(zero[0], minus(v, v));
    }
    store(found, larger(larger(largest[0], largest[1]), larger(largest[2], largest[3])));
    store(zeros, plus(plus(zero[0], zero[1]), plus(zero[2], zero[3])));
    bool finite = true;
    *ret_largest = found[0];
    for (int l = 0; l < FLOATS; l++) {
        *ret_largest = found[l] > *ret_largest ? found[l] : *ret_largest;
        finite = finite && zeros[l] == 0.0f;
    }
    return finite;
}

static int find(const float *x, float value, int n)
{
    int i = 0;
    while (i + FLOATS < n && !any_equal(load(x + i), all(value))) i += FLOATS;
    while (i < n - 1 && x[i] != value) i++;
    return i;
}

INLINE doubles exps_of(const float *x, float largest, double factor)
{
    return exp_doubles(
        times_double(minus_double(widened(x), all_double((double)largest)), all_double(factor)));
}

static double exps(double *e, const float *x, float largest, double factor, int n)
{
    doubles sum[PARTS_DOUBLE];
    int i = 0;
    for (int p = 0; p < PARTS_DOUBLE; p++) sum[p] = all_double(0.0);
    for (; i + LANES <= n; i += LANES)
        for (int p = 0; p < PARTS_DOUBLE; p++) {
            const doubles v = exps_of(x + i + p * DOUBLES, largest, factor);
            store_double(e + i + p * DOUBLES, v);
            sum[p] = plus_double(sum[p], v);
        }
    if (i < n) {
        float room[LANES];
        double rest[LANES];
        padded(room, x + i, n - i, largest);
        for (int p = 0; p < PARTS_DOUBLE; p++)
            store_double(rest + p * DOUBLES, exps_of(room + p * DOUBLES, largest, factor));
        memset(rest + (n - i), 0, (size_t)(LANES - (n - i)) * sizeof *rest);
        memcpy(e + i, rest, (size_t)(n - i) * sizeof *e);
        for (int p = 0; p < PARTS_DOUBLE; p++)
            sum[p] = plus_double(sum[p], load_double(rest + p * DOUBLES));
    }
    return added_double(sum);
}
