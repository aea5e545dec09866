/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reference_head: the row of a draft head in double precision, from the definitions of head.h.
 * Every row is computed from scratch: the whole text, then the path, column after column. */
#ifndef SPECLAB_TESTS_REFERENCE_HEAD_H
#define SPECLAB_TESTS_REFERENCE_HEAD_H

#include "models/heads/head.h"
#include "tests/models/transformer/engine/reference_pass.h"

enum { REFERENCE_PLACES = 128 };

typedef struct {
    const spec_head *head;
    const spec_checkpoint *target;
    const int *text; /* (n) including the begin-of-text token, then the path (n_path) */
    int n, n_path;
    int shift;      /* reads features so many positions too early: a mistake to detect */
    double *states; /* (n - 1, n_layers + 1, dim) of the target */
} reference;

static inline const spec_tensor *part_of(const reference *r, spec_head_part part, int copy)
{
    return &r->head->tensor[part][copy];
}

/* y (+)= part x + bias. */
static inline void by_part(const reference *r, double *y, spec_head_part part, int opt_bias,
                           int copy, const double *x)
{
    reference_product(y, part_of(r, part, copy),
                      opt_bias < 0 ? NULL : part_of(r, (spec_head_part)opt_bias, copy), x, true,
                      false);
}

/* Returns f(l, m), which is zero before the text. */
static inline void feature(const reference *r, double *y, int layers, int place)
{
    const spec_shape *s = &r->target->shape;
    place -= r->shift;
    for (int i = 0; i < s->dim; i++)
        y[i] = place < 0 ? 0.0
                         : r->states[((ptrdiff_t)place * (s->n_layers + 1) + layers) * s->dim + i];
}

static inline void embed(const spec_tensor *table, double *y, int token)
{
    FREED float *row = malloc((size_t)table->cols * sizeof *row);
    assert_non_null(row);
    spec_tensor_decode_row(row, table, token);
    for (int i = 0; i < table->cols; i++) y[i] = (double)row[i];
}

static inline void add_silu(double *x, const double *h, int n)
{
    for (int i = 0; i < n; i++) x[i] += h[i] / (1.0 + exp(-h[i]));
}

/* ---- without attention ----------------------------------------------------------------------- */

static inline void reference_medusa(const reference *r, double *logits)
{
    const int dim = r->target->shape.dim, d = r->n_path;
    const bool reads_path = r->head->shape.kind == SPEC_HEAD_HYDRA;
    double *in = reference_vector((d + 2) * dim), *t = reference_vector(dim),
           *a = reference_vector(dim), *h = reference_vector(dim);
    feature(r, h, r->head->shape.tap[0], r->n - 2);
    reference_norm(h, h, &r->target->final_norm, (double)r->target->shape.norm_eps);
    memcpy(in, h, (size_t)dim * sizeof *in);
    for (int i = 0; i <= d; i++)
        embed(&r->target->embedding, in + (i + 1) * dim, r->text[r->n - 1 + i]);
    by_part(r, t, SPEC_HEAD_LINEAR, SPEC_HEAD_LINEAR_BIAS, d, in);
    memcpy(a, h, (size_t)dim * sizeof *a);
    add_silu(a, t, dim);
    if (reads_path) {
        by_part(r, t, SPEC_HEAD_LINEAR2, SPEC_HEAD_LINEAR2_BIAS, d, a);
        add_silu(a, t, dim);
    }
    by_part(r, logits, SPEC_HEAD_DEPTH_OUTPUT, -1, d, a);
    free(in);
    free(t);
    free(a);
    free(h);
}

static inline void reference_redrafter(const reference *r, double *logits)
{
    const int dim = r->target->shape.dim;
    double *s = reference_vector(dim), *t = reference_vector(2 * dim),
           *z = reference_vector(2 * dim), *e = reference_vector(dim);
    for (int i = 0; i <= r->n_path; i++) {
        embed(part_of(r, SPEC_HEAD_EMBEDDING, 0), e, r->text[r->n - 1 + i]);
        by_part(r, t, SPEC_HEAD_INPUT, SPEC_HEAD_STATE_BIAS, 0, e);
        reference_product(t, part_of(r, SPEC_HEAD_STATE, 0), NULL, s, true, true);
        memset(s, 0, (size_t)dim * sizeof *s);
        add_silu(s, t, dim);
    }
    memcpy(z, s, (size_t)dim * sizeof *z);
    feature(r, z + dim, r->head->shape.tap[0], r->n - 2);
    reference_norm(z + dim, z + dim, &r->target->final_norm, (double)r->target->shape.norm_eps);
    by_part(r, t, SPEC_HEAD_MIX, SPEC_HEAD_MIX_BIAS, 0, z);
    add_silu(z, t, 2 * dim);
    by_part(r, t, SPEC_HEAD_MIX2, SPEC_HEAD_MIX2_BIAS, 0, z);
    add_silu(z, t, 2 * dim);
    by_part(r, logits, SPEC_HEAD_OUTPUT, -1, 0, z);
    free(s);
    free(t);
    free(z);
    free(e);
}

/* ---- with attention -------------------------------------------------------------------------- */

/* The keys and values of one layer so far. */
typedef struct {
    double *key, *value; /* (REFERENCE_PLACES, n_kv_heads * head_dim) */
    int n;
} reference_layer;

/* Computes the layer's next column: x is the residual, and becomes the output. */
static inline void reference_column(const reference *r, reference_layer *over, int l,
                                    const double *input, double *x)
{
    const spec_shape *s = &r->head->shape.shape;
    const int kv = s->n_kv_heads * s->head_dim, shared = s->n_heads / s->n_kv_heads, t = over->n++;
    double *query = reference_vector(s->n_heads * s->head_dim),
           *mixed = reference_vector(s->n_heads * s->head_dim),
           *gate = reference_vector(s->ffn_dim), *up = reference_vector(s->ffn_dim),
           *normed = reference_vector(s->dim);
    double *key = over->key + (ptrdiff_t)t * kv;
    assert_true(t < REFERENCE_PLACES);
    by_part(r, query, SPEC_HEAD_QUERY, -1, l, input);
    by_part(r, key, SPEC_HEAD_KEY, -1, l, input);
    by_part(r, over->value + (ptrdiff_t)t * kv, SPEC_HEAD_VALUE, -1, l, input);
    for (int h = 0; h < s->n_kv_heads; h++) reference_rope(key + h * s->head_dim, s, t);
    for (int h = 0; h < s->n_heads; h++) {
        const int from = h / shared * s->head_dim;
        reference_rope(query + h * s->head_dim, s, t);
        reference_attend(mixed + h * s->head_dim, query + h * s->head_dim, over->key + from,
                         over->value + from, kv, t, s->head_dim);
    }
    reference_product(x, part_of(r, SPEC_HEAD_ATTENTION_OUTPUT, l), NULL, mixed, true, true);
    reference_norm(normed, x, part_of(r, SPEC_HEAD_FFN_NORM, l), (double)s->norm_eps);
    by_part(r, gate, SPEC_HEAD_GATE, -1, l, normed);
    by_part(r, up, SPEC_HEAD_UP, -1, l, normed);
    for (int i = 0; i < s->ffn_dim; i++) gate[i] *= up[i] / (1.0 + exp(-gate[i]));
    reference_product(x, part_of(r, SPEC_HEAD_DOWN, l), NULL, gate, true, true);
    free(query);
    free(mixed);
    free(gate);
    free(up);
    free(normed);
}

static inline reference_layer reference_layer_of(const reference *r)
{
    const spec_shape *s = &r->head->shape.shape;
    const int size = REFERENCE_PLACES * s->n_kv_heads * s->head_dim;
    return (reference_layer){reference_vector(size), reference_vector(size), 0};
}

/* Fills in [norm e; norm g] and the residual. */
static inline void reference_pair(const reference *r, double *in, int l, const double *e,
                                  const double *g)
{
    const spec_shape *s = &r->head->shape.shape;
    reference_norm(in, e, part_of(r, SPEC_HEAD_EMBEDDING_NORM, l), (double)s->norm_eps);
    reference_norm(in + s->dim, g, part_of(r, SPEC_HEAD_FEATURE_NORM, l), (double)s->norm_eps);
}

/* Computes EAGLE, EAGLE-3 and parallel masks, which have one layer. */
static inline void reference_eagle(const reference *r, double *logits)
{
    const spec_head_shape *shape = &r->head->shape;
    const int dim = shape->shape.dim, first = r->n > 1 ? 1 : 0, end = r->n + r->n_path,
              width = r->target->shape.dim;
    reference_layer over = reference_layer_of(r);
    double *e = reference_vector(dim), *g = reference_vector(dim),
           *in = reference_vector(3 * (dim > width ? dim : width)), *x = reference_vector(dim);
    for (int m = first; m < end; m++) {
        const bool masked = shape->kind == SPEC_HEAD_PARALLEL && m >= r->n;
        embed(shape->own_embedding ? part_of(r, SPEC_HEAD_EMBEDDING, 0) : &r->target->embedding, e,
              r->text[m]);
        if (masked) {
            embed(part_of(r, SPEC_HEAD_MASK_EMBEDDING, 0), e, m - r->n + 1);
            embed(part_of(r, SPEC_HEAD_MASK_STATE, 0), g, m - r->n + 1);
        } else if (m >= r->n) {
            memcpy(g, x, (size_t)dim * sizeof *g);
        } else if (shape->kind == SPEC_HEAD_EAGLE) {
            feature(r, g, shape->tap[0], m - 1);
            if (shape->normed_features)
                reference_norm(g, g, &r->target->final_norm, (double)r->target->shape.norm_eps);
        } else {
            for (int i = 0; i < 3; i++) feature(r, in + i * width, shape->tap[i], m - 1);
            if (shape->norm_before_fc)
                reference_norm(in, in, part_of(r, SPEC_HEAD_INPUT_NORM, 0),
                               (double)shape->shape.norm_eps);
            by_part(r, g, SPEC_HEAD_FC, -1, 0, in);
        }
        if (shape->kind == SPEC_HEAD_EAGLE) {
            memcpy(in, e, (size_t)dim * sizeof *in);
            memcpy(in + dim, g, (size_t)dim * sizeof *in);
            by_part(r, x, SPEC_HEAD_FC, SPEC_HEAD_FC_BIAS, 0, in);
            memcpy(in, x, (size_t)dim * sizeof *in);
        } else {
            reference_pair(r, in, 0, e, g);
            memcpy(x, shape->norm_before_residual ? in + dim : g, (size_t)dim * sizeof *x);
        }
        reference_column(r, &over, 0, in, x);
    }
    const bool is_eagle = shape->kind == SPEC_HEAD_EAGLE,
               borrows = is_eagle || shape->borrows_output;
    if (!shape->normed_features)
        reference_norm(x, x,
                       is_eagle ? &r->target->final_norm : part_of(r, SPEC_HEAD_FINAL_NORM, 0),
                       (double)shape->shape.norm_eps);
    reference_product(logits, borrows ? &r->target->output : part_of(r, SPEC_HEAD_OUTPUT, 0), NULL,
                      x, true, false);
    double *const all[] = {e, g, in, x, over.key, over.value};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Computes h_k (j) for k = 1, 2, .., each from all of h_{k-1}. A text of one token has h_0(-1) =
 * 0. */
static inline void reference_mtp(const reference *r, double *logits)
{
    const int dim = r->target->shape.dim, modules = r->n_path + 1;
    const int begins = r->n > 1 ? 0 : -1; /* the first place of h_0 */
    const int n = r->n - 1 - begins;      /* positions of each h_k, from begins + k on */
    double *h = reference_vector(n * dim), *e = reference_vector(dim),
           *in = reference_vector(2 * dim), *x = reference_vector(dim);
    for (int i = 0; i < n; i++)
        feature(r, h + (ptrdiff_t)i * dim, r->head->shape.tap[0], begins + i);
    for (int k = 1; k <= modules; k++) {
        reference_layer over = reference_layer_of(r);
        for (int i = 0; i < n; i++) { /* position begins + k + i reads h_{k-1} at the position
                                       * before */
            double *before = h + (ptrdiff_t)i * dim;
            embed(&r->target->embedding, e, r->text[begins + k + i]);
            reference_pair(r, in, k - 1, e, before);
            by_part(r, x, SPEC_HEAD_PROJECTION, -1, k - 1, in);
            reference_norm(in, x, part_of(r, SPEC_HEAD_ATTENTION_NORM, k - 1),
                           (double)r->head->shape.shape.norm_eps);
            reference_column(r, &over, k - 1, in, x);
            memcpy(before, x, (size_t)dim * sizeof *x);
        }
        free(over.key);
        free(over.value);
    }
    reference_norm(x, h + (ptrdiff_t)(n - 1) * dim, part_of(r, SPEC_HEAD_FINAL_NORM, 0),
                   (double)r->head->shape.shape.norm_eps);
    reference_product(logits, &r->target->output, NULL, x, true, false);
    free(h);
    free(e);
    free(in);
    free(x);
}

/* Computes draft blocks of a model's file. Depth d runs module d, or the only one, over the whole
 * text and the path; y_i reads the last output of depth i - 1. */
static inline void reference_nextn(const reference *r, double *logits)
{
    const spec_shape *s = &r->head->shape.shape;
    const int dim = s->dim, n_path = r->n_path;
    double *h = reference_vector((n_path + 1) * dim), *e = reference_vector(dim),
           *in = reference_vector(2 * dim), *x = reference_vector(dim);
    for (int d = 0; d <= n_path; d++) {
        const int k = s->n_layers > 1 ? d : 0;
        reference_layer over = reference_layer_of(r);
        for (int m = 0; m < r->n + d; m++) {
            double *g = in + dim; /* overwritten by its norm */
            embed(r->head->shape.own_embedding ? part_of(r, SPEC_HEAD_EMBEDDING, k)
                                               : &r->target->embedding,
                  e, r->text[m]);
            feature(r, g, r->head->shape.tap[0], m < r->n ? m - 1 : -1);
            reference_norm(g, g, &r->target->final_norm, (double)r->target->shape.norm_eps);
            if (m >= r->n) memcpy(g, h + (ptrdiff_t)(m - r->n) * dim, (size_t)dim * sizeof *g);
            reference_pair(r, in, k, e, g);
            by_part(r, x, SPEC_HEAD_PROJECTION, -1, k, in);
            reference_norm(in, x, part_of(r, SPEC_HEAD_ATTENTION_NORM, k), (double)s->norm_eps);
            reference_column(r, &over, k, in, x);
        }
        reference_norm(h + (ptrdiff_t)d * dim, x, part_of(r, SPEC_HEAD_FINAL_NORM, k),
                       (double)s->norm_eps);
        reference_product(logits,
                          r->head->shape.own_output ? part_of(r, SPEC_HEAD_OUTPUT, k)
                                                    : &r->target->output,
                          NULL, h + (ptrdiff_t)d * dim, true, false);
        free(over.key);
        free(over.value);
    }
    double *const all[] = {h, e, in, x};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Computes the row (vocab) after a text of n tokens and a path, both in `text`. */
static inline void reference_head_row(double *row, const spec_head *head,
                                      const spec_checkpoint *target, const int *text, int n,
                                      int n_path, int shift)
{
    const spec_shape *s = &target->shape;
    const int few = head->shape.draft_vocab;
    reference r = {
        head, target, text, n, n_path, shift, reference_vector(n * (s->n_layers + 1) * s->dim)};
    double *unused = reference_vector(n * s->vocab), *logits = reference_vector(few), sum = 0.0,
           largest = -INFINITY;
    reference_states(unused, r.states, target, text, n - 1, true);
    switch (head->shape.kind) {
    case SPEC_HEAD_REDRAFTER: reference_redrafter(&r, logits); break;
    case SPEC_HEAD_MTP:
        if (head->shape.nextn) reference_nextn(&r, logits);
        else
            reference_mtp(&r, logits);
        break;
    case SPEC_HEAD_EAGLE:
    case SPEC_HEAD_EAGLE3:
    case SPEC_HEAD_PARALLEL: reference_eagle(&r, logits); break;
    default: reference_medusa(&r, logits); break;
    }
    for (int i = 0; i < few; i++) largest = fmax(largest, logits[i]);
    for (int i = 0; i < few; i++) sum += logits[i] = exp(logits[i] - largest);
    for (int i = 0; i < s->vocab; i++) row[i] = 0.0;
    for (int i = 0; i < few; i++)
        row[head->opt_token != NULL ? head->opt_token[i] : i] = logits[i] / sum;
    free(r.states);
    free(unused);
    free(logits);
}

#endif
