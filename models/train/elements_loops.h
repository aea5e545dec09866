/* SPDX-License-Identifier: GPL-3.0-or-later */
/* elements_loops: the loops of models/train/elements.h, which compilers vectorise by themselves.
 * Internal to models/train/elements_*.c, each of which compiles them for one instruction set. */
#ifndef SPECLAB_ELEMENTS_LOOPS_H
#define SPECLAB_ELEMENTS_LOOPS_H

#include "models/train/elements.h"

#include <math.h>
#include <stdint.h>

enum { LANES = 16 };

#ifdef SPEC_TRAIN_DOUBLE
static inline spec_real exp_of(spec_real x)
{
    return exp(x);
}
#define root sqrt
#define larger(a, b) ((a) > (b) ? (a) : (b))
#else
/* Computes exp(x) = 2^k exp(r), where r = x - k log(2) is subtracted in two parts, and exp(r) is
 * its series up to r^7 / 7!. The relative error is below 2e-7. x is clamped to -87..88. */
static inline spec_real exp_of(spec_real x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    union {
        float value;
        int32_t bits;
    } shifted = {x * 0x1.715476p+0f + 0x1.8p+23f}, power;
    const float k = shifted.value - 0x1.8p+23f;
    const float r = (x - k * 0x1.63p-1f) - k * -0x1.bd0106p-13f;
    float sum = 1.0f / 5040.0f;
    sum = sum * r + 1.0f / 720.0f;
    sum = sum * r + 1.0f / 120.0f;
    sum = sum * r + 1.0f / 24.0f;
    sum = sum * r + 1.0f / 6.0f;
    sum = sum * r + 0.5f;
    power.bits = (int32_t)((uint32_t)shifted.bits << 23) + 0x3f800000;
    return ((sum * r) * r + r + 1.0f) * power.value;
}
#define root sqrtf
#define larger(a, b) ((a) > (b) ? (a) : (b))
#endif

/* Sums f(i) for i < n in 16 lanes; `term` is an expression in i. */
#define SUM_OF(type, ret_sum, n, term)                                                             \
    do {                                                                                           \
        type lane[LANES] = {0};                                                                    \
        int first = 0;                                                                             \
        for (; first + LANES <= (n); first += LANES)                                               \
            for (int l = 0; l < LANES; l++) {                                                      \
                const int i = first + l;                                                           \
                lane[l] += (term);                                                                 \
            }                                                                                      \
        for (int i = first; i < (n); i++) lane[i - first] += (term);                               \
        for (int apart = LANES / 2; apart > 0; apart /= 2)                                         \
            for (int l = 0; l < apart; l++) lane[l] += lane[l + apart];                            \
        (ret_sum) = lane[0];                                                                       \
    } while (0)

static spec_real norm(spec_real *restrict y, const spec_real *restrict x,
                      const spec_real *restrict gain, spec_real eps, int n)
{
    spec_real sum;
    SUM_OF(spec_real, sum, n, x[i] * x[i]);
    const spec_real s = 1 / root(sum / (spec_real)n + eps);
    for (int i = 0; i < n; i++) y[i] = x[i] * s * gain[i];
    return s;
}

static void norm_back(spec_real *restrict dx, const spec_real *restrict dy,
                      const spec_real *restrict x, const spec_real *restrict gain, spec_real s,
                      int n, bool add)
{
    spec_real sum;
    SUM_OF(spec_real, sum, n, gain[i] * dy[i] * x[i]);
    const spec_real back = sum / (spec_real)n * s * s * s;
    if (add)
        for (int i = 0; i < n; i++) dx[i] += s * gain[i] * dy[i] - x[i] * back;
    else
        for (int i = 0; i < n; i++) dx[i] = s * gain[i] * dy[i] - x[i] * back;
}

static void gain_back(spec_real *restrict dgain, const spec_real *restrict dy,
                      const spec_real *restrict x, spec_real s, int n)
{
    for (int i = 0; i < n; i++) dgain[i] += dy[i] * x[i] * s;
}

static void softmax(spec_real *restrict x, spec_real factor, int n)
{
    spec_real most[LANES], sum;
    for (int l = 0; l < LANES; l++) most[l] = x[l < n ? l : 0];
    int from = 0;
    for (; from + LANES <= n; from += LANES)
        for (int l = 0; l < LANES; l++) most[l] = larger(x[from + l], most[l]);
    for (int i = from; i < n; i++) most[0] = larger(x[i], most[0]);
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        for (int l = 0; l < apart; l++) most[l] = larger(most[l + apart], most[l]);
    const spec_real largest = most[0];
    for (int i = 0; i < n; i++) x[i] = exp_of((x[i] - largest) * factor);
    SUM_OF(spec_real, sum, n, x[i]);
    const spec_real scale = 1 / sum;
    for (int i = 0; i < n; i++) x[i] *= scale;
}

static void softmax_back(spec_real *restrict d, const spec_real *restrict w, spec_real factor,
                         int n)
{
    spec_real sum;
    SUM_OF(spec_real, sum, n, w[i] * d[i]);
    for (int i = 0; i < n; i++) d[i] = factor * w[i] * (d[i] - sum);
}

static void gate(spec_real *restrict y, const spec_real *restrict a, const spec_real *restrict b,
                 int n)
{
    for (int i = 0; i < n; i++) y[i] = a[i] / (1 + exp_of(-a[i])) * b[i];
}

static void gate_back(spec_real *restrict da, spec_real *restrict db, const spec_real *restrict dy,
                      const spec_real *restrict a, const spec_real *restrict b, int n)
{
    for (int i = 0; i < n; i++) {
        const spec_real sigmoid = 1 / (1 + exp_of(-a[i]));
        da[i] = dy[i] * b[i] * sigmoid * (1 + a[i] * (1 - sigmoid));
        db[i] = dy[i] * a[i] * sigmoid;
    }
}

static void silu(spec_real *restrict y, const spec_real *restrict a, int n)
{
    for (int i = 0; i < n; i++) y[i] += a[i] / (1 + exp_of(-a[i]));
}

static void silu_back(spec_real *restrict da, const spec_real *restrict dy,
                      const spec_real *restrict a, int n, bool add)
{
    for (int i = 0; i < n; i++) {
        const spec_real sigmoid = 1 / (1 + exp_of(-a[i]));
        da[i] = (add ? da[i] : 0) + dy[i] * sigmoid * (1 + a[i] * (1 - sigmoid));
    }
}

static spec_real dot(const spec_real *restrict x, const spec_real *restrict y, int n)
{
    spec_real sum;
    SUM_OF(spec_real, sum, n, x[i] * y[i]);
    return sum;
}

static void scaled(spec_real *restrict y, spec_real factor, const spec_real *restrict x, int n,
                   bool add)
{
    if (add)
        for (int i = 0; i < n; i++) y[i] += factor * x[i];
    else
        for (int i = 0; i < n; i++) y[i] = factor * x[i];
}

static void copy(spec_real *restrict y, const spec_real *restrict x, int n, bool add)
{
    if (add)
        for (int i = 0; i < n; i++) y[i] += x[i];
    else
        for (int i = 0; i < n; i++) y[i] = x[i];
}

static double squares(const spec_real *x, int n)
{
    double sum;
    SUM_OF(double, sum, n, (double)x[i] * (double)x[i]);
    return sum;
}

static void adamw(spec_real *restrict w, spec_real *restrict m, spec_real *restrict v,
                  const spec_real *restrict g, const spec_elements_adamw *step, int n)
{
    const spec_elements_adamw s = *step;
    for (int i = 0; i < n; i++) {
        const spec_real gradient = g[i] * s.scale;
        m[i] = s.beta1 * m[i] + (1 - s.beta1) * gradient;
        v[i] = s.beta2 * v[i] + (1 - s.beta2) * (gradient * gradient);
        const spec_real size = root(v[i] * s.correction2) + s.epsilon;
        w[i] -= s.rate * (m[i] * s.correction1 / size + s.decay * w[i]);
    }
}

#define ELEMENTS                                                                                   \
    {                                                                                              \
        norm, norm_back, gain_back, softmax, softmax_back, gate, gate_back, silu, silu_back, dot,  \
            scaled, copy, squares, adamw                                                           \
    }

#endif
