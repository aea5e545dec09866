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
    VECTORS = 2, /* vectors of keys whose scores they compute at a time */
    GROUP = 4,   /* vectors of a value that they mix at a time */
    EXPS = 4,    /* vectors whose exponentials are computed at a time */
    LINE = 64    /* bytes of a cache line */
};

#define INLINE static inline __attribute__((always_inline))

/* Returns x[0..n-1], n < 16, followed by `fill`. */
INLINE const float *padded(float *room, const float *x, int n, float fill)
{
    for (int i = 0; i < LANES; i++) room[i] = i < n ? x[i] : fill;
    return room;
}

/* Replaces n vectors by their exponentials, step by step: while one waits for a result, the others
 * compute. */
INLINE void exp_vectors(floats *x, int n)
{
    floats shifted[EXPS], r[EXPS], sum[EXPS];
    for (int v = 0; v < n; v++) {
        x[v] = smaller(all(SPEC_EXP_MOST), larger(all(SPEC_EXP_LEAST), x[v]));
        shifted[v] = fused(x[v], all(SPEC_EXP_STEPS), all(SPEC_EXP_ROUND));
    }
    for (int v = 0; v < n; v++) {
        const floats k = minus(shifted[v], all(SPEC_EXP_ROUND));
        r[v] = fused(k, all(-SPEC_EXP_STEP_REST), fused(k, all(-SPEC_EXP_STEP), x[v]));
        sum[v] = all(spec_exp_term[0]);
    }
    for (int i = 1; i < SPEC_EXP_TERMS; i++)
        for (int v = 0; v < n; v++) sum[v] = fused(sum[v], r[v], all(spec_exp_term[i]));
    for (int v = 0; v < n; v++) sum[v] = fused(sum[v], times(r[v], r[v]), r[v]);
    for (int v = 0; v < n; v++)
        x[v] = times(times(plus(sum[v], all(1.0f)), half_power(shifted[v])), all(2.0f));
}

INLINE floats exp_floats(floats x)
{
    exp_vectors(&x, 1);
    return x;
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

/* Returns where vector v of the keys begins, in floats from the first tile on. */
INLINE int key_offset(int v, int width)
{
    return v / PARTS * width * LANES + v % PARTS * FLOATS;
}

/* Computes the scores of some queries for one vector of keys, or for VECTORS. A vector holds one
 * number of each key. */
INLINE void score_keys(float *score, const float *query, int width, const float *key, int queries,
                       int vectors)
{
    floats even[QUERIES][VECTORS], odd[QUERIES][VECTORS];
    for (int q = 0; q < queries; q++)
        for (int v = 0; v < vectors; v++) even[q][v] = odd[q][v] = all(0.0f);
    for (int d = 0; d < width; d += 2) {
        floats k[VECTORS], next[VECTORS];
        for (int v = 0; v < vectors; v++) {
            const float *const at = key + key_offset(v, width) + d * LANES;
            k[v] = load(at);
            next[v] = load(at + LANES);
        }
        for (int q = 0; q < queries; q++) {
            const floats of = all(query[q * width + d]), of_next = all(query[q * width + d + 1]);
            for (int v = 0; v < vectors; v++) {
                even[q][v] = fused(of, k[v], even[q][v]);
                odd[q][v] = fused(of_next, next[v], odd[q][v]);
            }
        }
    }
    for (int q = 0; q < queries; q++)
        for (int v = 0; v < vectors; v++)
            store(score + q * SPEC_VECTOR_ROW + v * FLOATS, plus(even[q][v], odd[q][v]));
}

/* Returns how many of the queries h..heads-1 are computed together: a power of two. */
INLINE int together(int h, int heads)
{
    const int left = heads - h;
    return left >= QUERIES ? QUERIES : left >= 2 ? 2 : 1;
}

/* Prefetches some of the lines ahead into the second-level cache: those that belong to steps
 * done..done+n-1 of `steps`. */
INLINE void fetch_share(spec_vector_ahead ahead, int done, int n, int steps)
{
    const int lines = (int)(ahead.bytes / LINE);
    for (int i = lines * done / steps; i < lines * (done + n) / steps; i++)
        __builtin_prefetch((const void *)((uintptr_t)ahead.from + (size_t)i * LINE), 0, 2);
}

static void score(float *ret_score, const float *query, int heads, int width, const float *key,
                  int tiles, spec_vector_ahead ahead)
{
    const int all_vectors = tiles * PARTS;
    for (int v = 0; v < all_vectors; v += VECTORS) {
        const float *const keys = key + key_offset(v, width);
        const int vectors = all_vectors - v < VECTORS ? 1 : VECTORS;
        for (int h = 0; h < heads; h += together(h, heads)) {
            float *const to = ret_score + h * SPEC_VECTOR_ROW + v * FLOATS;
            const float *const from = query + h * width;
            const int queries = together(h, heads);
            fetch_share(ahead, v * heads + h * vectors, queries * vectors, all_vectors * heads);
            if (queries == QUERIES && vectors == VECTORS)
                score_keys(to, from, width, keys, QUERIES, VECTORS);
            else if (vectors == VECTORS && queries == 2)
                score_keys(to, from, width, keys, 2, VECTORS);
            else if (vectors == VECTORS)
                score_keys(to, from, width, keys, 1, VECTORS);
            else
                for (int q = 0; q < queries; q++)
                    score_keys(to + q * SPEC_VECTOR_ROW, from + q * width, width, keys, 1, 1);
        }
    }
}

/* Turns some vectors of scores into weights and adds these to the sums of the lanes. */
INLINE void weigh_vectors(floats *sum, float *weight, floats largest, int vectors)
{
    floats e[EXPS];
    for (int v = 0; v < vectors; v++) e[v] = minus(load(weight + v * FLOATS), largest);
    exp_vectors(e, vectors);
    for (int v = 0; v < vectors; v++) {
        store(weight + v * FLOATS, e[v]);
        sum[v % PARTS] = plus(sum[v % PARTS], e[v]);
    }
}

static void weigh(float *ret_largest, float *ret_sum, float *weight, int n)
{
    floats largest = all(-INFINITY), sum[PARTS];
    for (int i = n; i % LANES != 0; i++) weight[i] = -INFINITY;
    for (int i = 0; i < n; i += LANES)
        for (int p = 0; p < PARTS; p++) largest = larger(load(weight + i + p * FLOATS), largest);
    *ret_largest = highest(largest);
    largest = all(*ret_largest);
    for (int p = 0; p < PARTS; p++) sum[p] = all(0.0f);
    int i = 0;
    for (; i + EXPS * FLOATS <= n; i += EXPS * FLOATS)
        weigh_vectors(sum, weight + i, largest, EXPS);
    for (; i < n; i += LANES) weigh_vectors(sum, weight + i, largest, PARTS);
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

static void mix(float *mixed, const float *weight, int heads, int width, const float *value, int n,
                spec_vector_ahead ahead)
{
    for (int h = 0; h < heads; h += together(h, heads)) {
        float *const to = mixed + h * width;
        const float *const w = weight + h * SPEC_VECTOR_ROW;
        const int queries = together(h, heads);
        fetch_share(ahead, h, queries, heads);
        if (queries == QUERIES)
            mix_width(to, w, value, (size_t)width, n, QUERIES);
        else if (queries == 2)
            mix_width(to, w, value, (size_t)width, n, 2);
        else
            mix_width(to, w, value, (size_t)width, n, 1);
    }
}

static void widen(float *to, const uint16_t *from, spec_tensor_type type, int n)
{
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
    float room[LANES], zeros[LANES];
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
    *ret_largest = highest(larger(larger(largest[0], largest[1]), larger(largest[2], largest[3])));
    store(zeros, plus(plus(zero[0], zero[1]), plus(zero[2], zero[3])));
    bool finite = true;
    for (int l = 0; l < FLOATS; l++) finite = finite && zeros[l] == 0.0f;
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
