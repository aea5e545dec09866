/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reference_delta: a recurrent layer in double precision, by its recurrence token after token.
 * S = a S, u = b (v - S' k), S += k u', o = S' q [Yang25]. */
#ifndef SPECLAB_TESTS_REFERENCE_DELTA_H
#define SPECLAB_TESTS_REFERENCE_DELTA_H

#include "models/transformer/files/checkpoint.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

/* Steps that a wrong engine could leave out; all false: the definition. */
typedef struct {
    bool no_decay, no_correction, no_bias, no_lengths, no_convolution, no_gate, no_norm;
} reference_delta_omissions;

/* A layer's state, the inputs of its convolution so far, and the other inputs of the last token. */
typedef struct {
    double *state;        /* (n_value_heads, key_dim, value_dim) */
    double *inputs;       /* (n, channels) */
    double *gate;         /* (n_value_heads, value_dim) */
    double *beta, *alpha; /* (n_value_heads) */
} reference_recurrence;

static inline double reference_number(const spec_tensor *table, int row, int col)
{
    float value;
    memcpy(&value, (const float *)table->data + (ptrdiff_t)row * table->cols + col, sizeof value);
    return (double)value;
}

static inline double reference_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* Returns silu of the convolution of a channel after token t. */
static inline double reference_convolved(const reference_recurrence *of,
                                         const spec_checkpoint_layer *layer, int t, int channel,
                                         const reference_delta_omissions *omit)
{
    const int kernel = layer->delta_conv.cols, channels = layer->delta_conv.rows;
    double sum = 0.0;
    for (int back = 0; back < kernel && back <= t; back++)
        if (back == 0 || !omit->no_convolution)
            sum += reference_number(&layer->delta_conv, channel, kernel - 1 - back) *
                   of->inputs[(ptrdiff_t)(t - back) * channels + channel];
    return sum * reference_sigmoid(sum);
}

static inline void reference_set_length(double *x, int n, double length)
{
    double squares = 1e-6;
    for (int i = 0; i < n; i++) squares += x[i] * x[i];
    for (int i = 0; i < n; i++) x[i] *= length / sqrt(squares);
}

/* Computes o of all heads after token t, normalised and gated, from its inputs, which are in
 * `of`. */
static inline void reference_delta(double *out, const reference_recurrence *of,
                                   const spec_checkpoint_layer *layer, const spec_shape *shape,
                                   int t, const reference_delta_omissions *omit)
{
    const spec_delta_shape *s = &shape->delta;
    const int keys = s->n_key_heads * s->key_dim, shared = s->n_value_heads / s->n_key_heads;
    for (int h = 0; h < s->n_value_heads; h++) {
        const int from = s->is_tiled ? h % s->n_key_heads : h / shared;
        double *S = of->state + (ptrdiff_t)h * s->key_dim * s->value_dim;
        double k[SPEC_HEAD_DIM_MAX], q[SPEC_HEAD_DIM_MAX], squares = 0.0;
        double *o = out + (ptrdiff_t)h * s->value_dim;
        for (int i = 0; i < s->key_dim; i++) {
            q[i] = reference_convolved(of, layer, t, from * s->key_dim + i, omit);
            k[i] = reference_convolved(of, layer, t, keys + from * s->key_dim + i, omit);
        }
        if (!omit->no_lengths) {
            reference_set_length(q, s->key_dim, 1.0);
            reference_set_length(k, s->key_dim, 1.0);
        }
        const double bias = omit->no_bias ? 0.0 : reference_number(&layer->delta_bias, 0, h);
        const double rate = reference_number(&layer->delta_rate, 0, h);
        const double a = omit->no_decay ? 1.0 : exp(rate * log(1.0 + exp(of->alpha[h] + bias)));
        for (int i = 0; i < s->key_dim * s->value_dim; i++) S[i] *= a;
        for (int d = 0; d < s->value_dim; d++) {
            double read = 0.0;
            for (int i = 0; i < s->key_dim; i++) read += k[i] * S[i * s->value_dim + d];
            const double v =
                reference_convolved(of, layer, t, 2 * keys + h * s->value_dim + d, omit);
            const double u = reference_sigmoid(of->beta[h]) * (omit->no_correction ? v : v - read);
            o[d] = 0.0;
            for (int i = 0; i < s->key_dim; i++) {
                S[i * s->value_dim + d] += k[i] * u;
                o[d] += q[i] / sqrt(s->key_dim) * S[i * s->value_dim + d];
            }
            squares += o[d] * o[d];
        }
        for (int d = 0; d < s->value_dim; d++) {
            const double z = of->gate[h * s->value_dim + d];
            if (!omit->no_norm)
                o[d] *= reference_number(&layer->delta_norm, 0, d) /
                        sqrt(squares / s->value_dim + (double)shape->norm_eps);
            if (!omit->no_gate) o[d] *= z * reference_sigmoid(z);
        }
    }
}

#endif
