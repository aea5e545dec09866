/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/vector_parts.h"

#include <stdint.h>
#include <string.h>

enum { LANES = SPEC_VECTOR_LANES };

static float tree(float *lane)
{
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        for (int l = 0; l < apart; l++) lane[l] += lane[l + apart];
    return lane[0];
}

static double tree_double(double *lane)
{
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        for (int l = 0; l < apart; l++) lane[l] += lane[l + apart];
    return lane[0];
}

/* exp(x) = 2^k exp(r), |r| <= log(2)/2. Adding 1.5 * 2^23 rounds x / log(2) to the integer k and
 * leaves it in the low bits, to be shifted into an exponent. 2^k is computed as 2^(k-1) * 2, so
 * that k = 128 overflows and k = -126 underflows to 0. The terms are those of the polynomial
 * (exp(r) - 1 - r) / r^2 with the least relative error of exp(r), 4e-9. */
float spec_vector_exp(float x)
{
    x = x < SPEC_EXP_LEAST ? SPEC_EXP_LEAST : x;
    x = x > SPEC_EXP_MOST ? SPEC_EXP_MOST : x;
    const float shifted = fmaf(x, SPEC_EXP_STEPS, SPEC_EXP_ROUND), k = shifted - SPEC_EXP_ROUND;
    const float r = fmaf(k, -SPEC_EXP_STEP_REST, fmaf(k, -SPEC_EXP_STEP, x));
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 126) << 23;
    float half, sum = spec_exp_term[0];
    memcpy(&half, &bits, sizeof half);
    for (int i = 1; i < SPEC_EXP_TERMS; i++) sum = fmaf(sum, r, spec_exp_term[i]);
    return (fmaf(sum, r * r, r) + 1.0f) * half * 2.0f;
}

/* Computes the same in double for x <= 0, in steps of log(2)/8: the low 3 bits select 2^(j/8), and
 * the other bits are added to its exponent. The polynomial's error is 3e-18, before rounding. */
static double exp_double(double x)
{
    if (x < SPEC_EXP_DOUBLE_LEAST) return 0.0;
    const double shifted = fma(x, SPEC_EXP_DOUBLE_STEPS, SPEC_EXP_DOUBLE_ROUND),
                 k = shifted - SPEC_EXP_DOUBLE_ROUND;
    const double r = fma(k, -SPEC_EXP_DOUBLE_STEP_REST, fma(k, -SPEC_EXP_DOUBLE_STEP, x));
    uint64_t steps, bits;
    memcpy(&steps, &shifted, sizeof steps);
    memcpy(&bits, &spec_exp_eighth[steps & 7], sizeof bits);
    bits += (steps & ~(uint64_t)7) << 49;
    double scale, sum = spec_exp_double_term[0];
    memcpy(&scale, &bits, sizeof scale);
    for (int i = 1; i < SPEC_EXP_DOUBLE_TERMS; i++) sum = fma(sum, r, spec_exp_double_term[i]);
    return fma(scale, fma(sum, r * r, r), scale);
}

static void norm(float *y, const float *x, const float *gain, float eps, int n)
{
    double lane[LANES] = {0};
    for (int i = 0; i < n; i++) lane[i % LANES] += (double)x[i] * (double)x[i];
    const float s = (float)(1.0 / sqrt(tree_double(lane) / n + (double)eps));
    for (int i = 0; i < n; i++) y[i] = x[i] * s * gain[i];
}

static void rotate(float *head, const float *cosine, const float *sine, spec_rope_pairs pairs,
                   int head_dim)
{
    spec_vector_rotate_from(0, head, cosine, sine, pairs, head_dim);
}

static void score(float *ret_score, const float *query, int heads, int width, const float *key,
                  int tiles, spec_vector_ahead ahead)
{
    (void)ahead;
    for (int h = 0; h < heads; h++, query += width, ret_score += SPEC_VECTOR_ROW)
        for (int t = 0; t < LANES * tiles; t++) {
            const float *k = key + t / LANES * width * LANES + t % LANES;
            float sum[2] = {0.0f, 0.0f};
            for (int d = 0; d < width; d++) sum[d % 2] = fmaf(query[d], k[d * LANES], sum[d % 2]);
            ret_score[t] = sum[0] + sum[1];
        }
}

static void weigh(float *ret_largest, float *ret_sum, float *weight, int n)
{
    float largest = -INFINITY, lane[LANES] = {0};
    for (int t = 0; t < n; t++) largest = weight[t] > largest ? weight[t] : largest;
    for (int t = 0; t < n; t++) {
        weight[t] = spec_vector_exp(weight[t] - largest);
        lane[t % LANES] += weight[t];
    }
    *ret_largest = largest;
    *ret_sum = tree(lane);
}

static void mix(float *mixed, const float *weight, int heads, int width, const float *value, int n,
                spec_vector_ahead ahead)
{
    (void)ahead;
    for (int h = 0; h < heads; h++, mixed += width, weight += SPEC_VECTOR_ROW)
        for (int t = 0; t < n; t++)
            for (int d = 0; d < width; d++)
                mixed[d] = fmaf(weight[t], value[t * width + d], mixed[d]);
}

static void widen(float *to, const uint16_t *from, spec_tensor_type type, int n)
{
    if (type == SPEC_TENSOR_BF16)
        spec_vector_widen_bf16(to, from, n);
    else
        for (int i = 0; i < n; i++) to[i] = spec_half_float_from_f16(from[i]);
}

static void narrow(uint16_t *to, const float *from, spec_tensor_type type, int n)
{
    if (type == SPEC_TENSOR_BF16)
        spec_vector_narrow_bf16(to, from, n);
    else
        for (int i = 0; i < n; i++) to[i] = spec_half_float_to_f16(from[i]);
}

static void gate(float *y, const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++) y[i] = a[i] / (1.0f + spec_vector_exp(-a[i])) * b[i];
}

static void gelu_gate(float *y, const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++) {
        const float power = a[i] * fmaf(a[i] * a[i], SPEC_GELU_CUBIC, SPEC_GELU_LINEAR);
        y[i] = a[i] / (1.0f + spec_vector_exp(power)) * b[i];
    }
}

/* tanh(z) = 1 - 2 / (1 + exp(2 z)) */
static void cap(float *x, float most, int n)
{
    const float factor = 2.0f / most;
    for (int i = 0; i < n; i++)
        x[i] = fmaf(-2.0f * most, 1.0f / (1.0f + spec_vector_exp(x[i] * factor)), most);
}

static bool largest_of(float *ret_largest, const float *x, int n)
{
    float largest = x[0];
    bool finite = true;
    for (int i = 0; i < n; i++) {
        if (x[i] > largest) largest = x[i];
        finite = finite && isfinite(x[i]);
    }
    *ret_largest = largest;
    return finite;
}

static int find(const float *x, float value, int n)
{
    int i = 0;
    while (i < n - 1 && x[i] != value) i++;
    return i;
}

static double exps(double *e, const float *x, float largest, double factor, int n)
{
    double lane[LANES] = {0};
    for (int i = 0; i < n; i++) {
        e[i] = exp_double(((double)x[i] - (double)largest) * factor);
        lane[i % LANES] += e[i];
    }
    return tree_double(lane);
}

const spec_vector_kernels spec_vector_kernels_ref = {
    norm, rotate,    score, weigh,      mix,  widen, narrow,
    gate, gelu_gate, cap,   largest_of, find, exps,  spec_vector_scale};
