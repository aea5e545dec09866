/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reference_pass: a transformer's forward pass in double precision, token after token.
 * Written from its definition [Touvron23] alone; and the engine's logits of the same text, to
 * compare. The caller owns the arrays. */
#ifndef SPECLAB_TESTS_REFERENCE_PASS_H
#define SPECLAB_TESTS_REFERENCE_PASS_H

#include "models/transformer/engine/forward.h"
#include "tests/models/transformer/engine/reference_experts.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

static inline double *reference_vector(int n)
{
    double *vector = calloc((size_t)n, sizeof *vector);
    assert_non_null(vector);
    return vector;
}

/* A product with quantised weights rounds its input: 32 numbers share a step, of which the largest
 * is 127. */
static inline void reference_round(double *x, int n)
{
    for (int begin = 0; begin < n; begin += SPEC_TENSOR_BLOCK) {
        double largest = 0.0;
        for (int i = begin; i < begin + SPEC_TENSOR_BLOCK; i++) largest = fmax(largest, fabs(x[i]));
        const double step = largest / 127.0;
        for (int i = begin; i < begin + SPEC_TENSOR_BLOCK && step > 0.0; i++)
            x[i] = nearbyint(x[i] / step) * step;
    }
}

/* y (+)= w x + bias, with x rounded if the weights are quantised and `rounds` is set. */
static inline void reference_product(double *y, const spec_tensor *w, const spec_tensor *opt_bias,
                                     const double *x, bool rounds, bool add)
{
    double *input = reference_vector(w->cols);
    float *row = malloc((size_t)w->cols * sizeof *row),
          *bias = calloc((size_t)w->rows, sizeof *bias);
    assert_non_null(row);
    assert_non_null(bias);
    memcpy(input, x, (size_t)w->cols * sizeof *input);
    if (rounds && (w->type == SPEC_TENSOR_Q8_0 || w->type == SPEC_TENSOR_Q4_0))
        reference_round(input, w->cols);
    if (opt_bias != NULL && opt_bias->data != NULL) spec_tensor_decode_row(bias, opt_bias, 0);
    for (int r = 0; r < w->rows; r++) {
        double sum = (double)bias[r];
        spec_tensor_decode_row(row, w, r);
        for (int k = 0; k < w->cols; k++) sum += (double)row[k] * input[k];
        y[r] = add ? y[r] + sum : sum;
    }
    free(input);
    free(row);
    free(bias);
}

static inline void reference_norm(double *y, const double *x, const spec_tensor *gain, double eps)
{
    const float *const by = gain->data;
    double squares = 0.0;
    for (int i = 0; i < gain->cols; i++) squares += x[i] * x[i];
    for (int i = 0; i < gain->cols; i++) {
        float g;
        memcpy(&g, by + i, sizeof g);
        y[i] = x[i] / sqrt(squares / gain->cols + eps) * (double)g;
    }
}

static inline void reference_rope(double *head, const spec_shape *s, int position)
{
    const int half = s->head_dim / 2;
    for (int i = 0; i < half; i++) {
        const double factor = s->rope.opt_factor != NULL ? (double)s->rope.opt_factor[i] : 1.0;
        const double angle = position * pow(s->rope.base, -2.0 * i / s->head_dim) / factor;
        double *a = s->rope_pairs == SPEC_ROPE_ADJACENT ? &head[2 * i] : &head[i];
        double *b = s->rope_pairs == SPEC_ROPE_ADJACENT ? &head[2 * i + 1] : &head[i + half];
        const double x = *a, y = *b;
        *a = x * cos(angle) - y * sin(angle);
        *b = x * sin(angle) + y * cos(angle);
    }
}

/* One head's weighted sum of the values at positions 0..last; keys and values are `stride` apart.
 */
static inline void reference_attend(double *mixed, const double *query, const double *key,
                                    const double *value, int stride, int last, int head_dim)
{
    double *weight = reference_vector(last + 1), largest = -INFINITY, sum = 0.0;
    for (int t = 0; t <= last; t++) {
        for (int i = 0; i < head_dim; i++) weight[t] += query[i] * key[(ptrdiff_t)t * stride + i];
        weight[t] /= sqrt(head_dim);
        largest = fmax(largest, weight[t]);
    }
    for (int t = 0; t <= last; t++) sum += weight[t] = exp(weight[t] - largest);
    for (int i = 0; i < head_dim; i++) {
        mixed[i] = 0.0;
        for (int t = 0; t <= last; t++)
            mixed[i] += weight[t] / sum * value[(ptrdiff_t)t * stride + i];
    }
    free(weight);
}

/* Logits (n, vocab) after each of n tokens, and the hidden states (n, n_layers + 1, dim) of each
 * after 0, 1, .. layers; of an engine that leaves steps of its experts out. */
static inline void reference_states_without(double *logits, double *opt_states,
                                            const spec_checkpoint *c, const int *token, int n,
                                            bool rounds, const reference_omissions *omit)
{
    const spec_shape *s = &c->shape;
    const int heads = s->n_heads * s->head_dim, kv = s->n_kv_heads * s->head_dim,
              shared = s->n_heads / s->n_kv_heads;
    double *x = reference_vector(s->dim), *normed = reference_vector(s->dim),
           *query = reference_vector(heads);
    double *mixed = reference_vector(heads), *gate = reference_vector(s->ffn_dim + 1),
           *up = reference_vector(s->ffn_dim + 1);
    double *keys = reference_vector(s->n_layers * n * kv),
           *values = reference_vector(s->n_layers * n * kv);
    float *row = malloc((size_t)s->dim * sizeof *row);
    assert_non_null(row);
    for (int t = 0; t < n; t++) {
        spec_tensor_decode_row(row, &c->embedding, token[t]);
        for (int i = 0; i < s->dim; i++) x[i] = (double)row[i];
        for (int l = 0; l <= s->n_layers; l++) {
            if (opt_states != NULL)
                memcpy(opt_states + ((ptrdiff_t)t * (s->n_layers + 1) + l) * s->dim, x,
                       (size_t)s->dim * sizeof *x);
            if (l == s->n_layers) break;
            const spec_checkpoint_layer *layer = &c->layer[l];
            double *key = keys + (ptrdiff_t)l * n * kv, *value = values + (ptrdiff_t)l * n * kv;
            double *own = key + (ptrdiff_t)t * kv;
            reference_norm(normed, x, &layer->attention_norm, (double)s->norm_eps);
            reference_product(query, &layer->query, &layer->query_bias, normed, rounds, false);
            reference_product(own, &layer->key, &layer->key_bias, normed, rounds, false);
            reference_product(value + (ptrdiff_t)t * kv, &layer->value, &layer->value_bias, normed,
                              rounds, false);
            for (int h = 0; h < s->n_kv_heads; h++) reference_rope(own + h * s->head_dim, s, t);
            for (int h = 0; h < s->n_heads; h++) {
                const int from = h / shared * s->head_dim;
                reference_rope(query + h * s->head_dim, s, t);
                reference_attend(mixed + h * s->head_dim, query + h * s->head_dim, key + from,
                                 value + from, kv, t, s->head_dim);
            }
            reference_product(x, &layer->attention_output, NULL, mixed, rounds, true);
            reference_norm(normed, x, &layer->ffn_norm, (double)s->norm_eps);
            if (s->n_experts > 0) {
                reference_experts(x, layer, s, normed, rounds, omit);
                continue;
            }
            reference_product(gate, &layer->gate, NULL, normed, rounds, false);
            reference_product(up, &layer->up, NULL, normed, rounds, false);
            for (int i = 0; i < s->ffn_dim; i++) gate[i] *= up[i] / (1.0 + exp(-gate[i]));
            reference_product(x, &layer->down, NULL, gate, rounds, true);
        }
        reference_norm(normed, x, &c->final_norm, (double)s->norm_eps);
        reference_product(logits + (ptrdiff_t)t * s->vocab, &c->output, NULL, normed, rounds,
                          false);
    }
    double *const all[] = {x, normed, query, mixed, gate, up, keys, values};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(row);
}

static inline void reference_states(double *logits, double *opt_states, const spec_checkpoint *c,
                                    const int *token, int n, bool rounds)
{
    reference_states_without(logits, opt_states, c, token, n, rounds, &(reference_omissions){0});
}

static inline void reference_pass(double *logits, const spec_checkpoint *c, const int *token, int n,
                                  bool rounds)
{
    reference_states(logits, NULL, c, token, n, rounds);
}

/* The engine's logits of the same text, in passes of `columns` tokens, on the weights' device. */
static inline void engine_pass_with(float *logits, const spec_weights *weights,
                                    spec_tensor_type kv_type, const int *token, int n, int columns)
{
    const spec_shape *s = &weights->shape;
    const spec_backend *on = weights->backend;
    spec_forward forward;
    spec_kv kv;
    spec_error error = {""};
    int sublayer[2 * SPEC_LAYERS_MAX], slot[SPEC_COLUMNS_MAX];
    for (int i = 0; i < 2 * s->n_layers; i++) sublayer[i] = i;
    assert_int_equal(spec_forward_init(&forward, weights, &error), GSL_SUCCESS);
    assert_int_equal(on->kv_init(on, &kv, s, kv_type, n, &error), GSL_SUCCESS);
    for (int done = 0; done < n; done += columns) {
        spec_batch batch = {.n = n - done < columns ? n - done : columns, .path = slot};
        for (int u = 0; u < batch.n; u++) {
            batch.token[u] = token[done + u];
            batch.position[u] = batch.slot[u] = batch.past[u] = slot[u] = done + u;
            batch.path_begin[u + 1] = u + 1;
        }
        spec_forward_begin(&forward, &kv, &batch, sublayer, 2 * s->n_layers);
        if (spec_forward_wait(&forward, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
        const size_t size = (size_t)batch.n * (size_t)s->vocab;
        on->get(on, logits + (ptrdiff_t)done * s->vocab, forward.logits, size * sizeof *logits);
    }
    on->kv_free(on, &kv);
    spec_forward_free(&forward);
}

static inline void engine_pass(float *logits, const spec_weights *weights, const int *token, int n,
                               int columns)
{
    engine_pass_with(logits, weights, SPEC_TENSOR_F32, token, n, columns);
}

/* The root mean square of the difference over the spread of the reference, the worst of n rows. */
static inline double reference_error(const float *logits, const double *reference, int n, int vocab)
{
    double worst = 0.0;
    for (int t = 0; t < n; t++, logits += vocab, reference += vocab) {
        double mean = 0.0, spread = 0.0, off = 0.0;
        for (int i = 0; i < vocab; i++) mean += reference[i] / vocab;
        for (int i = 0; i < vocab; i++) {
            spread += pow(reference[i] - mean, 2.0);
            off += pow((double)logits[i] - reference[i], 2.0);
        }
        worst = fmax(worst, sqrt(off / spread));
    }
    return worst;
}

#endif
