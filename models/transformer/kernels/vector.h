/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vector: the operations of a pass other than matrix products, on plain arrays.
 * One reference version defines the results, and the kernels for vector instructions equal it bit
 * for bit. Unless it says otherwise below, a sum runs in 16 lanes: lane l takes every 16th element,
 * from element l on; then lanes 8, 4, 2 and 1 apart are added. Exponentials use our own
 * polynomials, so that they are the same everywhere. */
#ifndef SPECLAB_VECTOR_H
#define SPECLAB_VECTOR_H

#include "base/cpu.h"
#include "models/transformer/files/checkpoint.h"

#include <stdbool.h>

enum {
    SPEC_VECTOR_LANES = 16,
    SPEC_VECTOR_BLOCK = 256, /* the most positions in a row of scores */
    SPEC_VECTOR_ROW = 272,   /* floats from one row to the next: rows 1 KiB apart would compete for
                                the same few lines of the first-level cache */
    SPEC_VECTOR_EXPS = 512   /* the most exponentials in one sum */
};

/* Memory that will be read soon. Kernels prefetch it while they compute; the address may be
 * invalid. */
typedef struct {
    const void *from;
    size_t bytes;
} spec_vector_ahead;

typedef struct {
    /* y_i = (x_i s) gain_i with s = float of 1 / sqrt(mean(x^2) + eps), the mean in double. All
     * (n); y may be x. */
    void (*norm)(float *y, const float *x, const float *gain, float eps, int n);

    /* Rotates the pairs of a head in place: a to fma(a, cos_i, -(b sin_i)), b to fma(b, cos_i, a
     * sin_i). cosine, sine (head_dim/2). */
    void (*rotate)(float *head, const float *cosine, const float *sine, spec_rope_pairs pairs,
                   int head_dim);

    /* The three steps of attention by `heads` queries to at most SPEC_VECTOR_BLOCK positions, with
     * fused products:
     *   score_t = sum_d query_d key_td, over all positions of the tiles: even d and odd d, each
     *             ascending, then their two sums are added
     *   weight_t = exp(score_t - largest), in place of the scores; sum = sum_t weight_t
     *   mixed += sum_t weight_t value_t, t ascending
     * The largest ignores scores that are NaN. score, weight (heads, SPEC_VECTOR_ROW); mixed,
     * query (heads, width); key (tiles, width, 16), where a tile is 16 positions; value (n, width);
     * width a multiple of 16. */
    void (*score)(float *score, const float *query, int heads, int width, const float *key,
                  int tiles, spec_vector_ahead ahead);
    void (*weigh)(float *ret_largest, float *ret_sum, float *score, int n);
    void (*mix)(float *mixed, const float *weight, int heads, int width, const float *value, int n,
                spec_vector_ahead ahead);

    /* Convert n floats from and to 16 bits, F16 or BF16; n a multiple of 16. */
    void (*widen)(float *to, const uint16_t *from, spec_tensor_type type, int n);
    void (*narrow)(uint16_t *to, const float *from, spec_tensor_type type, int n);

    /* y_i = a_i / (1 + exp(-a_i)) * b_i. All (n). */
    void (*gate)(float *y, const float *a, const float *b, int n);

    /* y_i = gelu(a_i) * b_i, gelu(a) = a (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3))) / 2, computed as
     * a / (1 + exp(-2 sqrt(2/pi) (a + 0.044715 a^3))). All (n). */
    void (*gelu_gate)(float *y, const float *a, const float *b, int n);

    /* x_i = most * tanh(x_i / most), most > 0. */
    void (*cap)(float *x, float most, int n);

    /* Finds the largest of n >= 1 values; returns false if one of them is not finite. */
    bool (*largest)(float *ret_largest, const float *x, int n);

    /* Returns the index of the first of n values that equals `value`, which must occur. */
    int (*find)(const float *x, float value, int n);

    /* e_i = exp((x_i - largest) * factor), in double, to a relative error of 4e-16; returns their
     * sum. n <= SPEC_VECTOR_EXPS. */
    double (*exps)(double *e, const float *x, float largest, double factor, int n);

    /* x_i *= factor. */
    void (*scale)(double *x, double factor, int n);
} spec_vector_kernels;

extern const spec_vector_kernels spec_vector_kernels_ref, spec_vector_kernels_avx2,
    spec_vector_kernels_avx512, spec_vector_kernels_neon;

const spec_vector_kernels *spec_vector_kernels_of(spec_isa isa);

/* Returns exp(x) to a relative error of 1.2e-7; 0 below -87, infinite above 88.8. */
float spec_vector_exp(float x);

#endif
