/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reference_dflash: the row of a dflash draft in double precision, from its definition.
 * Written from dflash.h alone. Every row is computed from scratch: target, context, block. */
#ifndef SPECLAB_TESTS_REFERENCE_DFLASH_H
#define SPECLAB_TESTS_REFERENCE_DFLASH_H

#include "models/dflash/dflash.h"
#include "tests/models/transformer/engine/reference_pass.h"

typedef struct {
    const spec_dflash *dflash;
    const spec_checkpoint *target;
    const int *text; /* (n) including the begin-of-text token */
    int n;
    int shift;      /* reads features this many places too early, a mistake that tests must
                     * notice */
    double *x;      /* (block, dim) the residual stream */
    double *normed; /* (block, dim) */
    double *branch; /* (block, dim) */
} block_reference;

static inline const spec_tensor *dflash_part(const block_reference *r, spec_dflash_part part,
                                             int layer)
{
    return &r->dflash->tensor[part][layer];
}

static inline double dflash_weight(const spec_tensor *tensor, int row, int col)
{
    FREED float *all = malloc((size_t)tensor->cols * sizeof *all);
    assert_non_null(all);
    spec_tensor_decode_row(all, tensor, row);
    const double weight = (double)all[col];
    return weight;
}

/* ---- keys and values ------------------------------------------------------------------------- */

/* Normalises each head, without gain if opt_gain has no data. */
static inline void dflash_norm_heads(double *heads, int n, const spec_shape *s,
                                     const spec_tensor *opt_gain)
{
    for (int h = 0; h < n; h++) {
        double *head = heads + h * s->head_dim, squares = 0.0;
        for (int i = 0; i < s->head_dim; i++) squares += head[i] * head[i];
        const double factor = 1.0 / sqrt(squares / s->head_dim + (double)s->norm_eps);
        for (int i = 0; i < s->head_dim; i++)
            head[i] *= factor * (opt_gain != NULL ? dflash_weight(opt_gain, 0, i) : 1.0);
    }
}

/* Computes the key and the value of a column at a position, from what its layer reads. */
static inline void dflash_key_value(const block_reference *r, double *key, double *value, int layer,
                                    int place, const double *input)
{
    const spec_shape *s = &r->dflash->shape.shape;
    const spec_tensor *own = dflash_part(r, SPEC_DFLASH_VALUE, layer);
    reference_product(key, dflash_part(r, SPEC_DFLASH_KEY, layer), NULL, input, true, false);
    if (own->data != NULL) {
        reference_product(value, own, NULL, input, true, false);
    } else {
        memcpy(value, key, (size_t)(s->n_kv_heads * s->head_dim) * sizeof *value);
        dflash_norm_heads(value, s->n_kv_heads, s, NULL);
    }
    dflash_norm_heads(key, s->n_kv_heads, s, dflash_part(r, SPEC_DFLASH_KEY_NORM, layer));
    for (int h = 0; h < s->n_kv_heads; h++) reference_rope(key + h * s->head_dim, s, place);
}

/* Computes g at every position but the last (n - 1, dim). */
static inline double *dflash_context(const block_reference *r)
{
    const spec_shape *t = &r->target->shape;
    const spec_dflash_shape *shape = &r->dflash->shape;
    const int dim = t->dim, stride = (t->n_layers + 1) * dim;
    double *unused = reference_vector(r->n * t->vocab), *states = reference_vector(r->n * stride),
           *g = reference_vector(r->n * dim), *in = reference_vector(shape->n_taps * dim);
    reference_states(unused, states, r->target, r->text, r->n - 1, true);
    for (int m = 0; m < r->n - 1; m++) {
        for (int i = 0; i < shape->n_taps; i++)
            for (int k = 0; k < dim; k++)
                in[i * dim + k] =
                    m >= r->shift
                        ? states[(ptrdiff_t)(m - r->shift) * stride + shape->tap[i] * dim + k]
                        : 0.0;
        reference_product(g + (ptrdiff_t)m * dim, dflash_part(r, SPEC_DFLASH_FC, 0), NULL, in, true,
                          false);
        reference_norm(g + (ptrdiff_t)m * dim, g + (ptrdiff_t)m * dim,
                       dflash_part(r, SPEC_DFLASH_CONTEXT_NORM, 0), (double)shape->shape.norm_eps);
    }
    free(unused);
    free(states);
    free(in);
    return g;
}

/* ---- a layer --------------------------------------------------------------------------------- */

/* y_i = sum_t (base_t + group (P normed)_{i,t}) x_{i-t}, for each channel. */
static inline void dflash_convolve(const block_reference *r, double *x, spec_dflash_part base,
                                   const double *coefficient, int layer, int side)
{
    const spec_dflash_shape *shape = &r->dflash->shape;
    const int dim = shape->shape.dim, groups = dim / shape->group, K = shape->kernel;
    FREED double *y = reference_vector(shape->block * dim);
    for (int i = 0; i < shape->block; i++)
        for (int t = 0; t < K; t++)
            for (int c = 0; c < dim; c++)
                if (i - t >= 0)
                    y[i * dim + c] +=
                        (dflash_weight(dflash_part(r, base, layer), side * K + t, c) +
                         coefficient[(i * 2 * K + side * K + t) * groups + c / shape->group]) *
                        x[(i - t) * dim + c];
    memcpy(x, y, (size_t)(shape->block * dim) * sizeof *x);
}

/* Returns the coefficients of a branch's convolutions (block, 2 kernel groups), which are applied
 * to its input; NULL if there are none. */
static inline double *dflash_begin(const block_reference *r, int layer, spec_dflash_part norm,
                                   spec_dflash_part base, spec_dflash_part conv)
{
    const spec_dflash_shape *shape = &r->dflash->shape;
    const int dim = shape->shape.dim;
    for (int i = 0; i < shape->block; i++)
        reference_norm(r->normed + i * dim, r->x + i * dim, dflash_part(r, norm, layer),
                       (double)shape->shape.norm_eps);
    if (shape->kind != SPEC_DFLASH_LATTICE) return NULL;
    const spec_tensor *w = dflash_part(r, conv, layer);
    double *coefficient = reference_vector(shape->block * w->rows);
    for (int i = 0; i < shape->block; i++)
        reference_product(coefficient + i * w->rows, w, NULL, r->normed + i * dim, true, false);
    dflash_convolve(r, r->normed, base, coefficient, layer, 0);
    return coefficient;
}

static inline void dflash_end(const block_reference *r, int layer, double *opt_coefficient,
                              spec_dflash_part base, spec_dflash_part post_norm)
{
    const spec_dflash_shape *shape = &r->dflash->shape;
    const int dim = shape->shape.dim;
    const spec_tensor *gain = dflash_part(r, post_norm, layer);
    if (opt_coefficient != NULL) dflash_convolve(r, r->branch, base, opt_coefficient, layer, 1);
    for (int i = 0; i < shape->block; i++) {
        if (gain->data != NULL)
            reference_norm(r->branch + i * dim, r->branch + i * dim, gain,
                           (double)shape->shape.norm_eps);
        for (int k = 0; k < dim; k++) r->x[i * dim + k] += r->branch[i * dim + k];
    }
    free(opt_coefficient);
}

/* Computes the attention of column i to positions begin..end-1; keys and values (places, n_kv_heads
 * head_dim). */
static inline void dflash_attend(const block_reference *r, int layer, int i, const double *key,
                                 const double *value)
{
    const spec_dflash_shape *shape = &r->dflash->shape;
    const spec_shape *s = &shape->shape;
    const int kv = s->n_kv_heads * s->head_dim, place = r->n - 1 + i,
              end = shape->causal ? place + 1 : r->n - 1 + shape->block;
    const double scale = s->query_scale > 0.0f ? (double)s->query_scale : 1.0 / sqrt(s->head_dim);
    int begin = shape->windowed[layer] && shape->window > 0 ? place - shape->window + 1 : 0;
    if (begin < 0) begin = 0;
    double *query = reference_vector(s->n_heads * s->head_dim),
           *mixed = reference_vector(s->n_heads * s->head_dim);
    reference_product(query, dflash_part(r, SPEC_DFLASH_QUERY, layer), NULL, r->normed + i * s->dim,
                      true, false);
    dflash_norm_heads(query, s->n_heads, s, dflash_part(r, SPEC_DFLASH_QUERY_NORM, layer));
    for (int h = 0; h < s->n_heads; h++) {
        const int from = h / (s->n_heads / s->n_kv_heads) * s->head_dim;
        const spec_tensor *sinks = dflash_part(r, SPEC_DFLASH_SINKS, layer);
        double *q = query + h * s->head_dim,
               sum = sinks->data != NULL ? exp(dflash_weight(sinks, 0, h)) : 0.0;
        reference_rope(q, s, place);
        for (int t = begin; t < end; t++) {
            double score = 0.0;
            for (int k = 0; k < s->head_dim; k++) score += q[k] * key[(ptrdiff_t)t * kv + from + k];
            const double weight = exp(score * scale);
            sum += weight;
            for (int k = 0; k < s->head_dim; k++)
                mixed[h * s->head_dim + k] += weight * value[(ptrdiff_t)t * kv + from + k];
        }
        for (int k = 0; k < s->head_dim; k++) mixed[h * s->head_dim + k] /= sum;
    }
    reference_product(r->branch + i * s->dim, dflash_part(r, SPEC_DFLASH_ATTENTION_OUTPUT, layer),
                      NULL, mixed, true, false);
    for (int k = 0; k < s->dim; k++)
        r->branch[i * s->dim + k] *= shape->value_scale > 0.0f ? (double)shape->value_scale : 1.0;
    free(query);
    free(mixed);
}

static inline void dflash_feed_forward(const block_reference *r, int layer, int i)
{
    const spec_shape *s = &r->dflash->shape.shape;
    double *a = reference_vector(s->ffn_dim), *b = reference_vector(s->ffn_dim);
    reference_product(a, dflash_part(r, SPEC_DFLASH_GATE, layer), NULL, r->normed + i * s->dim,
                      true, false);
    reference_product(b, dflash_part(r, SPEC_DFLASH_UP, layer), NULL, r->normed + i * s->dim, true,
                      false);
    for (int k = 0; k < s->ffn_dim; k++) {
        const double z = a[k], inner = sqrt(2.0 / acos(-1.0)) * (z + 0.044715 * z * z * z);
        a[k] = b[k] *
               (s->gate == SPEC_GATE_GELU ? 0.5 * z * (1.0 + tanh(inner)) : z / (1.0 + exp(-z)));
    }
    reference_product(r->branch + i * s->dim, dflash_part(r, SPEC_DFLASH_DOWN, layer), NULL, a,
                      true, false);
    free(a);
    free(b);
}

static inline void dflash_layer(const block_reference *r, int layer, const double *g)
{
    const spec_dflash_shape *shape = &r->dflash->shape;
    const spec_shape *s = &shape->shape;
    const int kv = s->n_kv_heads * s->head_dim, places = r->n - 1 + shape->block;
    double *key = reference_vector(places * kv), *value = reference_vector(places * kv);
    double *coefficient = dflash_begin(r, layer, SPEC_DFLASH_ATTENTION_NORM,
                                       SPEC_DFLASH_ATTENTION_CONV_BASE, SPEC_DFLASH_ATTENTION_CONV);
    for (int t = 0; t < places; t++)
        dflash_key_value(r, key + (ptrdiff_t)t * kv, value + (ptrdiff_t)t * kv, layer, t,
                         t < r->n - 1 ? g + (ptrdiff_t)t * s->dim
                                      : r->normed + (ptrdiff_t)(t - r->n + 1) * s->dim);
    for (int i = 0; i < shape->block; i++) dflash_attend(r, layer, i, key, value);
    dflash_end(r, layer, coefficient, SPEC_DFLASH_ATTENTION_CONV_BASE,
               SPEC_DFLASH_ATTENTION_POST_NORM);
    coefficient = dflash_begin(r, layer, SPEC_DFLASH_FFN_NORM, SPEC_DFLASH_FFN_CONV_BASE,
                               SPEC_DFLASH_FFN_CONV);
    for (int i = 0; i < shape->block; i++) dflash_feed_forward(r, layer, i);
    dflash_end(r, layer, coefficient, SPEC_DFLASH_FFN_CONV_BASE, SPEC_DFLASH_FFN_POST_NORM);
    const spec_tensor *scale = dflash_part(r, SPEC_DFLASH_LAYER_SCALE, layer);
    for (int k = 0; scale->data != NULL && k < shape->block * s->dim; k++)
        r->x[k] *= dflash_weight(scale, 0, 0);
    free(key);
    free(value);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static inline int dflash_token(const block_reference *r, int row)
{
    return r->dflash->opt_token != NULL ? r->dflash->opt_token[row] : row;
}

/* Keeps the logits of the k largest and adds the selector's terms; the others become -infinity. */
static inline void dflash_select(const block_reference *r, double *logits, const double *h,
                                 int previous)
{
    const spec_dflash_shape *shape = &r->dflash->shape;
    const int rank = shape->selector_rank;
    double *gate = reference_vector(rank), *all = reference_vector(shape->draft_vocab);
    memcpy(all, logits, (size_t)shape->draft_vocab * sizeof *all);
    reference_product(gate, dflash_part(r, SPEC_DFLASH_SELECTOR, 0), NULL, h, true, false);
    for (int x = 0; x < shape->draft_vocab; x++) {
        int larger = 0;
        for (int y = 0; y < shape->draft_vocab; y++)
            larger += all[y] > all[x] || (all[y] == all[x] && y < x);
        for (int k = 0; k < rank; k++)
            logits[x] +=
                dflash_weight(dflash_part(r, SPEC_DFLASH_SUCCESSOR, 0), dflash_token(r, x), k) *
                dflash_weight(dflash_part(r, SPEC_DFLASH_PREDECESSOR, 0), previous, k) * gate[k];
        if (larger >= shape->candidates) logits[x] = -INFINITY;
    }
    free(gate);
    free(all);
}

/* Starts a draft after a text of n tokens of the target; with `shift` it reads features this many
 * positions too early, a mistake that tests must notice. */
typedef struct {
    const spec_dflash *dflash;
    const spec_checkpoint *target;
    const int *text; /* (n) including the begin-of-text token */
    int n, shift;
} dflash_asked;

/* Computes the row (vocab) of draft token number offset + 1 if the token before it is `previous`,
 * and the log-odds of its confidence. */
static inline void reference_dflash_row(double *row, double *opt_confidence,
                                        const dflash_asked *asked, int offset, int previous)
{
    const spec_checkpoint *target = asked->target;
    const spec_dflash_shape *shape = &asked->dflash->shape;
    const int dim = shape->shape.dim, few = shape->draft_vocab, size = shape->block * dim;
    const int *text = asked->text, n = asked->n;
    const block_reference r = {asked->dflash,
                               target,
                               text,
                               n,
                               asked->shift,
                               reference_vector(size),
                               reference_vector(size),
                               reference_vector(size)};
    const spec_tensor *embedding = dflash_part(&r, SPEC_DFLASH_EMBEDDING, 0),
                      *output = dflash_part(&r, SPEC_DFLASH_OUTPUT, 0);
    const bool own = embedding->data != NULL;
    if (output->data == NULL) output = own ? embedding : &target->output;
    if (!own) embedding = &target->embedding;
    double *g = dflash_context(&r), *h = reference_vector(dim), *logits = reference_vector(few),
           largest = -INFINITY, sum = 0.0;
    for (int i = 0; i < shape->block; i++)
        for (int k = 0; k < dim; k++)
            r.x[i * dim + k] =
                dflash_weight(embedding, i == 0 ? text[n - 1] : shape->mask, k) *
                (shape->shape.embedding_scale > 0.0f ? (double)shape->shape.embedding_scale : 1.0);
    for (int l = 0; l < shape->shape.n_layers; l++) dflash_layer(&r, l, g);
    const int column = shape->from_anchor ? offset : offset + 1;
    reference_norm(h, r.x + column * dim, dflash_part(&r, SPEC_DFLASH_FINAL_NORM, 0),
                   (double)shape->shape.norm_eps);
    reference_product(logits, output, NULL, h, true, false);
    for (int x = 0; shape->kind != SPEC_DFLASH_MARKOV && x < few; x++) {
        const double cap = (double)shape->shape.logit_cap;
        if (shape->logit_scale > 0.0f) logits[x] *= (double)shape->logit_scale;
        if (cap > 0.0) logits[x] = cap * tanh(logits[x] / cap);
    }
    if (shape->kind == SPEC_DFLASH_LATTICE) dflash_select(&r, logits, h, previous);
    if (shape->kind == SPEC_DFLASH_MARKOV) {
        double *in = reference_vector(dim + shape->markov_rank), confidence = 0.0;
        const spec_tensor *head = dflash_part(&r, SPEC_DFLASH_CONFIDENCE, 0),
                          *bias = dflash_part(&r, SPEC_DFLASH_CONFIDENCE_BIAS, 0);
        memcpy(in, h, (size_t)dim * sizeof *in);
        for (int k = 0; k < shape->markov_rank; k++)
            in[dim + k] = dflash_weight(dflash_part(&r, SPEC_DFLASH_MARKOV_IN, 0), previous, k);
        reference_product(logits, dflash_part(&r, SPEC_DFLASH_MARKOV_OUT, 0), NULL, in + dim, true,
                          true);
        if (head->data != NULL) reference_product(&confidence, head, bias, in, true, false);
        if (opt_confidence != NULL) *opt_confidence = confidence;
        free(in);
    }
    for (int x = 0; x < few; x++) largest = fmax(largest, logits[x]);
    for (int x = 0; x < few; x++) sum += logits[x] = exp(logits[x] - largest);
    for (int x = 0; x < shape->shape.vocab; x++) row[x] = 0.0;
    for (int x = 0; x < few; x++) row[dflash_token(&r, x)] = logits[x] / sum;
    double *const all[] = {r.x, r.normed, r.branch, g, h, logits};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

#endif
