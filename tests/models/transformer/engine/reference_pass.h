/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reference_pass: a transformer's forward pass in double precision, token after token.
 * Written from its definition [Touvron23] alone; and the engine's logits of the same text, to
 * compare. The caller owns the arrays. */
#ifndef SPECLAB_TESTS_REFERENCE_PASS_H
#define SPECLAB_TESTS_REFERENCE_PASS_H

#include "models/transformer/engine/forward.h"
#include "tests/models/transformer/engine/reference_delta.h"
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

/* In a product with quantised weights the input is rounded: 32 numbers share a step, of which the
 * largest is 127. */
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

/* Computes y (+)= w x + bias, with x rounded if the weights are quantised and `rounds` is set. */
static inline void reference_product(double *y, const spec_tensor *w, const spec_tensor *opt_bias,
                                     const double *x, bool rounds, bool add)
{
    FREED double *input = reference_vector(w->cols);
    float *row = malloc((size_t)w->cols * sizeof *row),
          *bias = calloc((size_t)w->rows, sizeof *bias);
    assert_non_null(row);
    assert_non_null(bias);
    memcpy(input, x, (size_t)w->cols * sizeof *input);
    if (rounds && spec_tensor_is_quantised(w->type)) reference_round(input, w->cols);
    if (opt_bias != NULL && opt_bias->data != NULL) spec_tensor_decode_row(bias, opt_bias, 0);
    for (int r = 0; r < w->rows; r++) {
        double sum = (double)bias[r];
        spec_tensor_decode_row(row, w, r);
        for (int k = 0; k < w->cols; k++) sum += (double)row[k] * input[k];
        y[r] = add ? y[r] + sum : sum;
    }
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

static inline void reference_rotate(double *head, const spec_rope *rope, const spec_shape *s,
                                    int position)
{
    const int rotated = s->rotated > 0 ? s->rotated : s->head_dim, half = rotated / 2;
    const double magnitude = rope->magnitude != 0.0f ? (double)rope->magnitude : 1.0;
    for (int i = 0; i < half; i++) {
        const double factor = rope->opt_factor != NULL ? (double)rope->opt_factor[i] : 1.0;
        const double angle = position * pow(rope->base, -2.0 * i / rotated) / factor;
        double *a = s->rope_pairs == SPEC_ROPE_ADJACENT ? &head[2 * i] : &head[i];
        double *b = s->rope_pairs == SPEC_ROPE_ADJACENT ? &head[2 * i + 1] : &head[i + half];
        const double x = *a, y = *b;
        *a = magnitude * (x * cos(angle) - y * sin(angle));
        *b = magnitude * (x * sin(angle) + y * cos(angle));
    }
}

static inline void reference_rope(double *head, const spec_shape *s, int position)
{
    reference_rotate(head, &s->rope, s, position);
}

/* Normalises and rotates the heads of one layer. */
static inline void reference_turn(double *head, int heads, const spec_tensor *opt_norm,
                                  const spec_checkpoint_layer *layer, const spec_shape *s,
                                  int position)
{
    for (int h = 0; h < heads; h++, head += s->head_dim) {
        if (opt_norm->data != NULL) reference_norm(head, head, opt_norm, (double)s->norm_eps);
        reference_rotate(head, layer->has_window ? &s->window_rope : &s->rope, s, position);
    }
}

/* The positions first..last to which a head attends, and a score that has no value. */
typedef struct {
    int first, last, stride, head_dim; /* keys and values are `stride` apart */
    double scale;                      /* of scores */
    double sink;                       /* -INFINITY: none */
    int hidden, until;                 /* positions hidden..until-1 are left out */
} reference_sight;

/* Computes one head's weighted sum of the values at the positions that it sees. */
static inline void reference_look(double *mixed, const double *query, const double *key,
                                  const double *value, const reference_sight *of)
{
    double *weight = reference_vector(of->last + 1), largest = of->sink;
    for (int t = of->first; t <= of->last; t++) {
        for (int i = 0; i < of->head_dim; i++)
            weight[t] += query[i] * key[(ptrdiff_t)t * of->stride + i];
        weight[t] = t >= of->hidden && t < of->until ? -INFINITY : weight[t] * of->scale;
        largest = fmax(largest, weight[t]);
    }
    double sum = exp(of->sink - largest);
    for (int t = of->first; t <= of->last; t++) sum += weight[t] = exp(weight[t] - largest);
    for (int i = 0; i < of->head_dim; i++) {
        mixed[i] = 0.0;
        for (int t = of->first; t <= of->last; t++)
            mixed[i] += weight[t] / sum * value[(ptrdiff_t)t * of->stride + i];
    }
    free(weight);
}

/* Returns all positions 0..last, as in llama. */
static inline void reference_attend(double *mixed, const double *query, const double *key,
                                    const double *value, int stride, int last, int head_dim)
{
    reference_look(mixed, query, key, value,
                   &(reference_sight){.last = last,
                                      .stride = stride,
                                      .head_dim = head_dim,
                                      .scale = 1.0 / sqrt(head_dim),
                                      .sink = -INFINITY});
}

/* Returns the positions that a head of a layer sees from position t. */
static inline reference_sight reference_sight_of(const spec_checkpoint_layer *layer,
                                                 const spec_shape *s, int head, int t,
                                                 const reference_omissions *omit)
{
    reference_sight of = {.last = t,
                          .stride = s->n_kv_heads * s->head_dim,
                          .head_dim = s->head_dim,
                          .scale = 1.0 / sqrt(s->head_dim),
                          .sink = -INFINITY,
                          .hidden = omit->sink};
    float sink;
    if (omit->window > 0 && t >= omit->from) of.until = t + 1 - omit->window;
    if (s->query_scale != 0.0f) of.scale = (double)s->query_scale;
    if (layer->has_window && t >= s->window) of.first = t + 1 - s->window;
    if (layer->sinks.data != NULL) {
        memcpy(&sink, (const float *)layer->sinks.data + head, sizeof sink);
        of.sink = (double)sink;
    }
    return of;
}

/* Computes x += post_norm(w input + bias). */
static inline void reference_branch(double *x, const spec_tensor *w, const spec_tensor *opt_bias,
                                    const double *input, const spec_tensor *opt_post_norm,
                                    const spec_shape *s, bool rounds)
{
    FREED double *branch = reference_vector(s->dim);
    reference_product(branch, w, opt_bias, input, rounds, false);
    if (opt_post_norm->data != NULL)
        reference_norm(branch, branch, opt_post_norm, (double)s->norm_eps);
    for (int i = 0; i < s->dim; i++) x[i] += branch[i];
}

static inline double reference_dense_gate(double a, double b, spec_gate gate)
{
    const double pi = 3.14159265358979323846;
    if (gate == SPEC_GATE_GELU)
        return 0.5 * a * (1.0 + tanh(sqrt(2.0 / pi) * (a + 0.044715 * a * a * a))) * b;
    return a / (1.0 + exp(-a)) * b;
}

/* Computes the queries of all heads and, in gated attention, the gates, each of which follows its
 * query in the rows. */
static inline void reference_queries(double *query, double *gate,
                                     const spec_checkpoint_layer *layer, const spec_shape *s,
                                     const double *normed, bool rounds)
{
    const int width = s->head_dim, rows = layer->query.rows;
    FREED double *all = reference_vector(rows);
    reference_product(all, &layer->query, &layer->query_bias, normed, rounds, false);
    for (int h = 0; h < s->n_heads; h++) {
        const double *head = all + (ptrdiff_t)h * width * (s->gates_attention ? 2 : 1);
        memcpy(query + h * width, head, (size_t)width * sizeof *head);
        for (int i = 0; i < width && s->gates_attention; i++) gate[h * width + i] = head[width + i];
    }
}

/* x += a recurrent layer's branch */
static inline void reference_recur(double *x, reference_recurrence *of,
                                   const spec_checkpoint_layer *layer, const spec_shape *s, int t,
                                   const double *normed, bool rounds,
                                   const reference_delta_omissions *omit)
{
    const int values = layer->delta_gate.rows, heads = s->delta.n_value_heads,
              per_key = heads / s->delta.n_key_heads;
    FREED double *out = reference_vector(values);
    FREED double *gate = of->gate = reference_vector(values);
    FREED double *beta = of->beta = reference_vector(heads);
    FREED double *alpha = of->alpha = reference_vector(heads);
    FREED double *both = reference_vector(2 * heads);
    reference_product(of->inputs + (ptrdiff_t)t * layer->delta_input.rows, &layer->delta_input,
                      NULL, normed, rounds, false);
    reference_product(gate, &layer->delta_gate, NULL, normed, rounds, false);
    if (layer->delta_both.data != NULL) {
        reference_product(both, &layer->delta_both, NULL, normed, rounds, false);
        for (int h = 0; h < heads; h++) {
            beta[h] = both[h / per_key * 2 * per_key + h % per_key];
            alpha[h] = both[h / per_key * 2 * per_key + per_key + h % per_key];
        }
    } else {
        reference_product(beta, &layer->delta_beta, NULL, normed, rounds, false);
        reference_product(alpha, &layer->delta_alpha, NULL, normed, rounds, false);
    }
    reference_delta(out, of, layer, s, t, omit);
    reference_product(x, &layer->delta_output, NULL, out, rounds, true);
}

/* Computes logits (n, vocab) after each of n tokens, and the hidden states (n, n_layers + 1, dim)
 * of each after 0, 1, .. layers; with what an engine might leave out. */
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
    double *gates = reference_vector(heads);
    const int state = s->delta.n_value_heads * s->delta.key_dim * s->delta.value_dim,
              channels = spec_checkpoint_channels(&s->delta);
    double *recurrent = reference_vector(s->n_layers * (state + n * channels) + 1);
    FREED float *row = malloc((size_t)s->dim * sizeof *row);
    assert_non_null(row);
    for (int t = 0; t < n; t++) {
        spec_tensor_decode_row(row, &c->embedding, token[t]);
        for (int i = 0; i < s->dim; i++)
            x[i] = (double)row[i] * (s->embedding_scale != 0.0f ? (double)s->embedding_scale : 1.0);
        for (int l = 0; l <= s->n_layers; l++) {
            if (opt_states != NULL)
                memcpy(opt_states + ((ptrdiff_t)t * (s->n_layers + 1) + l) * s->dim, x,
                       (size_t)s->dim * sizeof *x);
            if (l == s->n_layers) break;
            const spec_checkpoint_layer *layer = &c->layer[l];
            double *key = keys + (ptrdiff_t)l * n * kv, *value = values + (ptrdiff_t)l * n * kv;
            double *own = key + (ptrdiff_t)t * kv;
            reference_norm(normed, x, &layer->attention_norm, (double)s->norm_eps);
            if (layer->is_recurrent) {
                double *own_state = recurrent + (ptrdiff_t)l * (state + n * channels);
                reference_recurrence of = {.state = own_state, .inputs = own_state + state};
                reference_recur(x, &of, layer, s, t, normed, rounds, &omit->delta);
            } else {
                reference_queries(query, gates, layer, s, normed, rounds);
                reference_product(own, &layer->key, &layer->key_bias, normed, rounds, false);
                reference_product(value + (ptrdiff_t)t * kv, &layer->value, &layer->value_bias,
                                  normed, rounds, false);
                reference_turn(own, s->n_kv_heads, &layer->key_norm, layer, s, t);
                reference_turn(query, s->n_heads, &layer->query_norm, layer, s, t);
                for (int h = 0; h < s->n_heads; h++) {
                    const int from = h / shared * s->head_dim;
                    const reference_sight of = reference_sight_of(layer, s, h, t, omit);
                    reference_look(mixed + h * s->head_dim, query + h * s->head_dim, key + from,
                                   value + from, &of);
                }
                for (int i = 0; i < heads && s->gates_attention && !omit->no_attention_gate; i++)
                    mixed[i] *= reference_sigmoid(gates[i]);
                reference_branch(x, &layer->attention_output, &layer->attention_output_bias, mixed,
                                 &layer->attention_post_norm, s, rounds);
            }
            reference_norm(normed, x, &layer->ffn_norm, (double)s->norm_eps);
            if (s->n_experts > 0) reference_experts(x, layer, s, normed, rounds, omit);
            if (layer->gate.data == NULL) continue;
            reference_product(gate, &layer->gate, NULL, normed, rounds, false);
            reference_product(up, &layer->up, NULL, normed, rounds, false);
            for (int i = 0; i < s->ffn_dim; i++)
                gate[i] = reference_dense_gate(gate[i], up[i], s->gate);
            double share = 0.0;
            for (int i = 0; i < s->dim && layer->shared_gate.data != NULL; i++)
                share += reference_number(&layer->shared_gate, 0, i) * normed[i];
            for (int i = 0; i < s->ffn_dim && layer->shared_gate.data != NULL; i++)
                gate[i] *= omit->no_shared_gate ? 1.0 : reference_sigmoid(share);
            reference_branch(x, &layer->down, NULL, gate, &layer->ffn_post_norm, s, rounds);
        }
        reference_norm(normed, x, &c->final_norm, (double)s->norm_eps);
        reference_product(logits + (ptrdiff_t)t * s->vocab, &c->output, NULL, normed, rounds,
                          false);
        for (int i = 0; i < s->vocab && s->logit_cap != 0.0f; i++) {
            double *logit = &logits[(ptrdiff_t)t * s->vocab + i];
            *logit = (double)s->logit_cap * tanh(*logit / (double)s->logit_cap);
        }
    }
    double *const all[] = {x, normed, query, mixed, gate, up, keys, values, gates, recurrent};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
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

/* Computes the engine's logits of the same text, in passes of `columns` tokens, on the weights'
 * device; with the window and the sink of `omit`. */
static inline void engine_pass_without(float *logits, const spec_weights *weights,
                                       spec_tensor_type kv_type, const int *token, int n,
                                       int columns, const reference_omissions *omit)
{
    const spec_shape *s = &weights->shape;
    const spec_backend *on = weights->backend;
    OWNED(spec_forward) forward;
    spec_kv kv;
    spec_error error = {""};
    int sublayer[2 * SPEC_LAYERS_MAX], slot[SPEC_COLUMNS_MAX];
    for (int i = 0; i < 2 * s->n_layers; i++) sublayer[i] = i;
    assert_works(spec_forward_init(&forward, weights, &error));
    assert_int_equal(on->kv_init(on, &kv, s, kv_type, n, &error), GSL_SUCCESS);
    for (int done = 0; done < n; done += columns) {
        spec_batch batch = {.n = n - done < columns ? n - done : columns,
                            .n_text = n,
                            .path = slot,
                            .window = omit->window,
                            .sink = omit->sink};
        for (int u = 0; u < batch.n; u++) {
            batch.token[u] = token[done + u];
            batch.position[u] = batch.slot[u] = batch.past[u] = slot[u] = done + u;
            batch.path_begin[u + 1] = u + 1;
        }
        spec_forward_begin(&forward, &kv, &batch, sublayer, 2 * s->n_layers);
        assert_works(spec_forward_wait(&forward, &error));
        const size_t size = (size_t)batch.n * (size_t)s->vocab;
        on->get(on, logits + (ptrdiff_t)done * s->vocab, forward.logits, size * sizeof *logits);
    }
    on->kv_free(on, &kv);
}

static inline void engine_pass_with(float *logits, const spec_weights *weights,
                                    spec_tensor_type kv_type, const int *token, int n, int columns)
{
    engine_pass_without(logits, weights, kv_type, token, n, columns, &(reference_omissions){0});
}

static inline void engine_pass(float *logits, const spec_weights *weights, const int *token, int n,
                               int columns)
{
    engine_pass_with(logits, weights, SPEC_TENSOR_F32, token, n, columns);
}

/* Returns the root mean square of the difference over the spread of the reference, for the worst of
 * n rows. */
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
