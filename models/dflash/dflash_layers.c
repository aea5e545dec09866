/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/dflash/dflash_layers.h"

#define MATRIX(part, l) (&state->model->matrix[SPEC_DFLASH_##part][l])
#define VECTOR(part, l) (state->model->vector[SPEC_DFLASH_##part][l])

/* Returns the number of values in the columns of a pass. */
static size_t values_of(const spec_dflash_state *state)
{
    return (size_t)state->batch.n * (size_t)state->model->dflash.shape.shape.dim;
}

static const spec_dflash_shape *shape_of(const spec_dflash_state *state)
{
    return &state->model->dflash.shape;
}

void spec_dflash_layers_scale(float *x, size_t n, float factor)
{
    if (factor == 1.0f) return;
    for (size_t i = 0; i < n; i++) x[i] *= factor;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Norms the values of qkv, head by head, without gain. */
static void norm_values(spec_dflash_state *state)
{
    const spec_shape *s = &shape_of(state)->shape;
    const int first = s->n_heads + s->n_kv_heads, heads = first + s->n_kv_heads;
    float ones[SPEC_HEAD_DIM_MAX];
    for (int i = 0; i < s->head_dim; i++) ones[i] = 1.0f;
    for (int u = 0; u < state->batch.n; u++)
        for (int h = first; h < heads; h++) {
            float *at = state->forward.qkv + (size_t)(u * heads + h) * (size_t)s->head_dim;
            state->kernels->norm(at, at, ones, s->norm_eps, s->head_dim);
        }
}

static void ask_for_part(spec_dflash_state *state, const spec_matrix *w, const float *input, int at)
{
    spec_forward *f = &state->forward;
    const spec_backend *on = state->model->base.backend;
    const spec_shape *s = &shape_of(state)->shape;
    on->matmul(&f->queue, state->other, w, input, NULL, false, SPEC_COLUMNS_ALL);
    on->join(&f->queue, f->qkv, (s->n_heads + 2 * s->n_kv_heads) * s->head_dim, at, state->other,
             w->rows);
}

/* If values have no matrix, they are the keys before the keys' norm, normed without gain. */
static void ask_for_keys_and_values(spec_dflash_state *state, int layer, const float *input)
{
    const spec_shape *s = &shape_of(state)->shape;
    const int keys = s->n_heads * s->head_dim, values = keys + s->n_kv_heads * s->head_dim;
    const bool has_values = MATRIX(VALUE, layer)->data != NULL;
    ask_for_part(state, MATRIX(KEY, layer), input, keys);
    ask_for_part(state, has_values ? MATRIX(VALUE, layer) : MATRIX(KEY, layer), input, values);
    if (!has_values) norm_values(state);
}

void spec_dflash_layers_store(spec_dflash_state *state, int layer, const float *input)
{
    spec_forward *f = &state->forward;
    const spec_backend *on = state->model->base.backend;
    ask_for_keys_and_values(state, layer, input);
    on->rope(&f->queue, f->qkv, &(spec_attending){.opt_key_norm = VECTOR(KEY_NORM, layer)});
    on->store(&f->queue, &state->kv, layer, f->qkv);
}

/* Sets the positions to which each column of the block attends in this layer. */
static void see(spec_dflash_state *state, int layer)
{
    const spec_dflash_shape *shape = shape_of(state);
    spec_batch *batch = &state->batch;
    const int window = shape->windowed[layer] ? shape->window : 0,
              end_of_block = batch->position[0] + batch->n;
    for (int u = 0; u < batch->n; u++) {
        const int end = shape->causal ? batch->position[u] + 1 : end_of_block,
                  begin = window > 0 ? batch->position[u] + 1 - window : 0;
        int n = batch->path_begin[u];
        batch->past[u] = begin > 0 ? 0 : end;
        for (int slot = begin; begin > 0 && slot < end; slot++) state->path[n++] = slot;
        batch->path_begin[u + 1] = n;
    }
}

/* ---- branches -------------------------------------------------------------------------------- */

/* Convolves x (n, dim) over the columns, in place, from the last one to the first. side 0: before a
 * branch, 1: after it. */
static void convolve(spec_dflash_state *state, float *x, const float *base, int side)
{
    const spec_dflash_shape *shape = shape_of(state);
    const int dim = shape->shape.dim, kernel = shape->kernel, groups = dim / shape->group;
    for (int u = state->batch.n - 1; u >= 0; u--) {
        const float *coefficient = state->coefficient + (size_t)u * (size_t)(2 * kernel * groups);
        float *column = x + (size_t)u * (size_t)dim;
        for (int t = 0; t < kernel && t <= u; t++) {
            const int row = side * kernel + t;
            const float *own = base + (size_t)row * (size_t)dim,
                        *from = column - (size_t)t * (size_t)dim;
            for (int g = 0; g < groups; g++) {
                const float shared = coefficient[row * groups + g];
                for (int i = g * shape->group; i < (g + 1) * shape->group; i++) {
                    const float term = (shared + own[i]) * from[i];
                    column[i] = t == 0 ? term : column[i] + term;
                }
            }
        }
    }
}

/* Computes the coefficients of a branch from its normed input, which is then convolved. */
static void begin_branch(spec_dflash_state *state, const spec_matrix *conv, const float *base)
{
    spec_forward *f = &state->forward;
    if (shape_of(state)->kind != SPEC_DFLASH_LATTICE) return;
    state->model->base.backend->matmul(&f->queue, state->coefficient, conv, f->normed, NULL, false,
                                       SPEC_COLUMNS_ALL);
    convolve(state, f->normed, base, 0);
}

/* Convolves and norms the branch's output, state->other, and adds it to x. */
static void end_branch(spec_dflash_state *state, const float *base, const float *opt_gain)
{
    spec_forward *f = &state->forward;
    const size_t n = values_of(state);
    if (shape_of(state)->kind == SPEC_DFLASH_LATTICE) convolve(state, state->other, base, 1);
    if (opt_gain != NULL)
        state->model->base.backend->norm_add(&f->queue, f->x, state->other, opt_gain);
    else
        for (size_t i = 0; i < n; i++) f->x[i] += state->other[i];
}

static void run_attention(spec_dflash_state *state, int layer)
{
    spec_forward *f = &state->forward;
    const spec_backend *on = state->model->base.backend;
    const spec_attending how = {.opt_query_norm = VECTOR(QUERY_NORM, layer),
                                .opt_key_norm = VECTOR(KEY_NORM, layer),
                                .opt_sinks = VECTOR(SINKS, layer)};
    on->norm(&f->queue, f->normed, f->x, VECTOR(ATTENTION_NORM, layer), SPEC_COLUMNS_ALL, NULL);
    begin_branch(state, MATRIX(ATTENTION_CONV, layer), VECTOR(ATTENTION_CONV_BASE, layer));
    ask_for_part(state, MATRIX(QUERY, layer), f->normed, 0);
    ask_for_keys_and_values(state, layer, f->normed);
    on->rope(&f->queue, f->qkv, &how);
    on->store(&f->queue, &state->kv, layer, f->qkv);
    see(state, layer);
    on->attend(&f->queue, f->mixed, f->qkv, &state->kv, layer, &how,
               MATRIX(ATTENTION_OUTPUT, layer));
    on->matmul(&f->queue, state->other, MATRIX(ATTENTION_OUTPUT, layer), f->mixed, NULL, false,
               SPEC_COLUMNS_ALL);
    spec_dflash_layers_scale(state->other, values_of(state), shape_of(state)->value_scale);
    end_branch(state, VECTOR(ATTENTION_CONV_BASE, layer), VECTOR(ATTENTION_POST_NORM, layer));
}

static void run_ffn(spec_dflash_state *state, int layer)
{
    spec_forward *f = &state->forward;
    const spec_backend *on = state->model->base.backend;
    const int ffn = shape_of(state)->shape.ffn_dim;
    on->norm(&f->queue, f->normed, f->x, VECTOR(FFN_NORM, layer), SPEC_COLUMNS_ALL, NULL);
    begin_branch(state, MATRIX(FFN_CONV, layer), VECTOR(FFN_CONV_BASE, layer));
    on->matmul(&f->queue, state->other, MATRIX(GATE, layer), f->normed, NULL, false,
               SPEC_COLUMNS_ALL);
    on->join(&f->queue, f->hidden, 2 * ffn, 0, state->other, ffn);
    on->matmul(&f->queue, state->other, MATRIX(UP, layer), f->normed, NULL, false,
               SPEC_COLUMNS_ALL);
    on->join(&f->queue, f->hidden, 2 * ffn, ffn, state->other, ffn);
    on->gate(&f->queue, f->gated, f->hidden);
    on->matmul(&f->queue, state->other, MATRIX(DOWN, layer), f->gated, NULL, false,
               SPEC_COLUMNS_ALL);
    end_branch(state, VECTOR(FFN_CONV_BASE, layer), VECTOR(FFN_POST_NORM, layer));
}

void spec_dflash_layers_run(spec_dflash_state *state, int layer)
{
    const float *opt_scale = VECTOR(LAYER_SCALE, layer);
    run_attention(state, layer);
    run_ffn(state, layer);
    if (opt_scale != NULL) spec_dflash_layers_scale(state->forward.x, values_of(state), *opt_scale);
}
