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
    /* queries whose sums are in registers at a time; AVX2 has only 16 registers */
    QUERIES = FLOATS == 8 ? 2 : 4,
    GROUP = 4,                     /* vectors of a value that they mix at a time */
    WIDENED_AHEAD = 1 << 11,       /* bytes of prefetch distance of 16-bit numbers */
    TILE = 32 /* positions whose values stay in the first-level cache while all heads mix them */
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

/* Computes the scores of some queries and 16 keys. A vector holds one number of each key, so lanes
 * are added without shuffles: lane l and l + 8, then these sums 4, 2 and 1 apart. */
INLINE void score_tile(float *score, const float *query, int groups, const float *key, int queries)
{
    const int width = groups * LANES;
    for (int p = 0; p < PARTS; p++, key += FLOATS, score += FLOATS) {
        floats sum8[QUERIES], sum4[QUERIES], sum2[QUERIES];
#pragma GCC unroll 8
        for (int i = 0; i < LANES / 2; i++) {
            const int l = (i & 1) * 4 + (i & 2) + (i & 4) / 4; /* 0, 4, 2, 6, 1, 5, 3, 7 */
            floats low[QUERIES], high[QUERIES];
            for (int q = 0; q < queries; q++) low[q] = high[q] = all(0.0f);
#pragma GCC unroll 1
            for (int d = l; d < width; d += LANES) {
                const floats k = load(key + d * LANES), k8 = load(key + (d + LANES / 2) * LANES);
                for (int q = 0; q < queries; q++) {
                    const float *const at = query + q * width + d;
                    low[q] = fused(all(at[0]), k, low[q]);
                    high[q] = fused(all(at[LANES / 2]), k8, high[q]);
                }
            }
            for (int q = 0; q < queries; q++) {
                floats sum = plus(low[q], high[q]);
                if (i % 2 == 0) {
                    sum8[q] = sum;
                    continue;
                }
                sum = plus(sum8[q], sum);
                if (i % 4 == 1) {
                    sum4[q] = sum;
                    continue;
                }
                sum = plus(sum4[q], sum);
                if (i == 3)
                    sum2[q] = sum;
                else
                    store(score + q * SPEC_VECTOR_ROW, plus(sum2[q], sum));
            }
        }
    }
}

/* Returns how many of the queries h..heads-1 are computed together: a power of two. */
INLINE int together(int h, int heads)
{
    const int left = heads - h;
    return left >= QUERIES ? QUERIES : left >= 2 ? 2 : 1;
}

/* Prefetches part of the next tile, the share of queries h..h+n-1, into the second-level cache. The
 * address may be invalid. */
INLINE void fetch_share(const float *tile, int floats_of_tile, int h, int n, int heads)
{
    const int lines = floats_of_tile / LANES;
    const uintptr_t next = (uintptr_t)tile + (size_t)floats_of_tile * sizeof *tile;
    for (int i = lines * h / heads; i < lines * (h + n) / heads; i++)
        __builtin_prefetch((const void *)(next + (size_t)(i * LANES) * sizeof *tile), 0, 2);
}

INLINE void score_all(float *score, const float *query, int heads, int groups, const float *key,
                      int tiles)
{
    const int width = groups * LANES;
    for (int t = 0; t < tiles; t++, key += width * LANES, score += LANES)
        for (int h = 0; h < heads; h += together(h, heads)) {
            float *const to = score + h * SPEC_VECTOR_ROW;
            const float *const from = query + h * width;
            const int queries = together(h, heads);
            fetch_share(key, width * LANES, h, queries, heads);
            if (queries == QUERIES)
                score_tile(to, from, groups, key, QUERIES);
            else if (queries == 2)
                score_tile(to, from, groups, key, 2);
            else
                score_tile(to, from, groups, key, 1);
        }
}

static void score(float *ret_score, const float *query, int heads, int width, const float *key,
                  int tiles)
{
    switch (width / LANES) { /* loops of known width unroll */
    case 4: score_all(ret_score, query, heads, 4, key, tiles); break;
    case 8: score_all(ret_score, query, heads, 8, key, tiles); break;
    default: score_all(ret_score, query, heads, width / LANES, key, tiles); break;
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

/* Mixes n positions of some queries for `vectors` vectors of a value, in registers. */
INLINE void mix_vectors(float *mixed, const float *weight, const float *value, size_t width, int n,
                        int queries, int vectors)
{
    floats sum[QUERIES][GROUP];
    for (int q = 0; q < queries; q++)
        for (int k = 0; k < vectors; k++) sum[q][k] = load(mixed + (size_t)q * width + k * FLOATS);
    for (int t = 0; t < n; t++, value += width) {
        floats v[GROUP];
        for (int k = 0; k < vectors; k++) v[k] = load(value + k * FLOATS);
        for (int q = 0; q < queries; q++) {
            const floats w = all(weight[q * SPEC_VECTOR_ROW + t]);
            for (int k = 0; k < vectors; k++) sum[q][k] = fused(w, v[k], sum[q][k]);
        }
    }
    for (int q = 0; q < queries; q++)
        for (int k = 0; k < vectors; k++) store(mixed + (size_t)q * width + k * FLOATS, sum[q][k]);
}

INLINE void mix_width(float *mixed, const float *weight, const float *value, size_t width, int n,
                      int queries)
{
    size_t at = 0;
    for (; at + GROUP * FLOATS <= width; at += GROUP * FLOATS)
        mix_vectors(mixed + at, weight, value + at, width, n, queries, GROUP);
    for (; at < width; at += FLOATS)
        mix_vectors(mixed + at, weight, value + at, width, n, queries, 1);
}

static void mix(float *mixed, const float *weight, int heads, int width, const float *value, int n)
{
    for (int begin = 0; begin < n; begin += TILE) {
        const int size = n - begin < TILE ? n - begin : TILE;
        const float *const values = value + (size_t)begin * (size_t)width;
        for (int h = 0; h < heads; h += together(h, heads)) {
            float *const to = mixed + h * width;
            const float *const w = weight + h * SPEC_VECTOR_ROW + begin;
            const int queries = together(h, heads);
            fetch_share(values, size * width, h, queries, heads);
            if (queries == QUERIES)
                mix_width(to, w, values, (size_t)width, size, QUERIES);
            else if (queries == 2)
                mix_width(to, w, values, (size_t)width, size, 2);
            else
                mix_width(to, w, values, (size_t)width, size, 1);
        }
    }
}

static void widen(float *to, const uint16_t *from, spec_tensor_type type, int n)
{
    const uintptr_t ahead = (uintptr_t)from + WIDENED_AHEAD; /* possibly invalid */
    for (size_t i = 0; i < (size_t)n * sizeof *from; i += 64)
        __builtin_prefetch((const void *)(ahead + i), 0, 2);
    if (type == SPEC_TENSOR_BF16)
        spec_vector_widen_bf16(to, from, n);
    else
        for (int i = 0; i < n; i += FLOATS) store(to + i, from_f16(from + i));
}

static void narrow(uint16_t *to, const float *from, spec_tensor_type type, int n)
{
    if (type == SPEC_TENSOR_BF16)
        spec_vector_narrow_bf16(to, from, n);
    else
        for (int i = 0; i < n; i += FLOATS) to_f16(to + i, load(from + i));
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
