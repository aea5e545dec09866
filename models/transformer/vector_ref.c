#include "models/transformer/vector.h"

#include <math.h>
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

/* exp(x) = 2^k exp(r), |r| <= log(2)/2: adding 1.5 * 2^23 rounds x / log(2) to the integer k and leaves it in the low
 * bits, from where it is shifted into an exponent. 2^k is made as 2^(k-1) * 2, so that k = 128 overflows and k = -126
 * vanishes. */
float spec_vector_exp(float x)
{
    if (x < -87.0f) x = -87.0f;
    if (x > 89.0f) x = 89.0f;
    const float shifted = x * 0x1.715476p+0f + 0x1.8p+23f;
    const float k = shifted - 0x1.8p+23f;
    const float r = (x - k * 0x1.63p-1f) - k * -0x1.bd0106p-13f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 126) << 23;
    float half;
    memcpy(&half, &bits, sizeof half);

    float sum = 1.0f / 5040.0f;
    sum = sum * r + 1.0f / 720.0f;
    sum = sum * r + 1.0f / 120.0f;
    sum = sum * r + 1.0f / 24.0f;
    sum = sum * r + 1.0f / 6.0f;
    sum = sum * r + 0.5f;
    return ((sum * (r * r) + r) + 1.0f) * half * 2.0f;
}

/* The same in double; x <= 0. */
static double exp_double(double x)
{
    if (x < -708.0) x = -708.0;
    const double shifted = x * 0x1.71547652b82fep+0 + 0x1.8p+52;
    const double k = shifted - 0x1.8p+52;
    const double r = (x - k * 0x1.62e42fefa38p-1) - k * 0x1.ef35793c7673p-45;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1022) << 52;
    double half;
    memcpy(&half, &bits, sizeof half);

    double sum = 1.0 / 6227020800.0;
    sum = sum * r + 1.0 / 479001600.0;
    sum = sum * r + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    return ((sum * (r * r) + r) + 1.0) * half * 2.0;
}

static void norm(float *y, const float *x, const float *gain, float eps, int n)
{
    double lane[LANES] = {0};
    for (int i = 0; i < n; i++) lane[i % LANES] += (double)x[i] * (double)x[i];
    const float s = (float)(1.0 / sqrt(tree_double(lane) / n + (double)eps));
    for (int i = 0; i < n; i++) y[i] = x[i] * s * gain[i];
}

static void rotate(float *head, const float *cosine, const float *sine, spec_rope_pairs pairs, int head_dim)
{
    const int half = head_dim / 2;
    for (int i = 0; i < half; i++) {
        float *a = pairs == SPEC_ROPE_ADJACENT ? &head[2 * i] : &head[i];
        float *b = pairs == SPEC_ROPE_ADJACENT ? &head[2 * i + 1] : &head[i + half];
        const float x = *a, y = *b;
        *a = x * cosine[i] - y * sine[i];
        *b = x * sine[i] + y * cosine[i];
    }
}

static void attend_one(float *mixed, float *ret_largest, float *ret_sum, const float *query, int width,
                       const float *key, const float *value, const int *slot, int n)
{
    float e[SPEC_VECTOR_BLOCK], sum[LANES] = {0}, largest = -INFINITY;
    for (int t = 0; t < n; t++) {
        const float *k = key + (size_t)slot[t] * (size_t)width;
        float lane[LANES] = {0};
        for (int d = 0; d < width; d++) lane[d % LANES] += query[d] * k[d];
        e[t] = tree(lane);
        if (e[t] > largest) largest = e[t];
    }
    for (int t = 0; t < n; t++) {
        e[t] = spec_vector_exp(e[t] - largest);
        sum[t % LANES] += e[t];
    }
    for (int d = 0; d < width; d++) mixed[d] = 0.0f;
    for (int t = 0; t < n; t++) {
        const float *v = value + (size_t)slot[t] * (size_t)width;
        for (int d = 0; d < width; d++) mixed[d] += e[t] * v[d];
    }
    *ret_largest = largest;
    *ret_sum = tree(sum);
}

static void attend(float *mixed, float *largest, float *sum, const float *query, int heads, int width,
                   const float *key, const float *value, const int *slot, int n)
{
    for (int h = 0; h < heads; h++)
        attend_one(mixed + h * width, &largest[h], &sum[h], query + h * width, width, key, value, slot, n);
}

static void gate(float *y, const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++) y[i] = a[i] / (1.0f + spec_vector_exp(-a[i])) * b[i];
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

static double exps(double *e, const float *x, float largest, double factor, int n)
{
    double lane[LANES] = {0};
    for (int i = 0; i < n; i++) {
        e[i] = exp_double(((double)x[i] - (double)largest) * factor);
        lane[i % LANES] += e[i];
    }
    return tree_double(lane);
}

static void scale(double *x, double factor, int n)
{
    for (int i = 0; i < n; i++) x[i] *= factor;
}

const spec_vector_kernels spec_vector_kernels_ref = {norm, rotate, attend, gate, largest_of, exps, scale};
