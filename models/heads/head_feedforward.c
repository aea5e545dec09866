/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_feedforward.h"

enum { STATES, FEATURE }; /* the planes of state->kv */

#define MATRIX(part, d) (&state->model->weights.matrix[SPEC_HEAD_##part][d])
#define VECTOR(part, d) (state->model->weights.vector[SPEC_HEAD_##part][d])

static void begin(spec_head_state *state, int n, int first)
{
    spec_batch *batch = &state->batch;
    batch->n = n;
    batch->first = first;
    for (int u = 0; u < n; u++) batch->position[u] = 0;
    const spec_backend *on = state->model->weights.base.backend;
    on->begin(&state->forward.queue, batch, &state->kv, NULL, 0);
}

static int end(spec_head_state *state, spec_error *error)
{
    const spec_backend *on = state->model->weights.base.backend;
    on->end(&state->forward.queue);
    return on->wait(&state->forward.queue, error);
}

static int hold_feature(spec_head_state *state, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_backend *on = state->model->weights.base.backend;
    spec_forward *f = &state->forward;
    const int dim = f->weights->shape.dim;
    if (state->held) return status;
    SPEC_TRY(spec_target_reader_follow(&state->reader, state->text, state->n_text, error));
    const int row = spec_head_state_plane_row(state, state->n_text - 1);
    state->batch.slot[0] = 0;
    begin(state, 1, 0);
    on->gather(&f->queue, f->x, spec_head_state_plane(state, 0), dim, &row);
    on->norm(&f->queue, f->normed, f->x, state->model->target->weights->final_norm,
             SPEC_COLUMNS_ALL, NULL);
    on->tap(&f->queue, &state->kv, FEATURE, f->normed);
    SPEC_TRY(end(state, error));
    state->held = true;
done:
    return status;
}

/* Requests h for every column of the batch, in forward.normed. */
static void ask_for_feature(spec_head_state *state)
{
    static const int zeros[SPEC_COLUMNS_MAX];
    spec_forward *f = &state->forward;
    f->weights->backend->gather(&f->queue, f->normed, state->kv.plane[FEATURE],
                                f->weights->shape.dim, zeros);
}

/* ---- Medusa and Hydra ------------------------------------------------------------------------ */

/* Requests the logits of depth d + 1 from h and `input`, which the first product reads. */
static void ask_for_depth(spec_head_state *state, int d, const float *input, float *logits)
{
    spec_forward *f = &state->forward;
    const spec_backend *on = f->weights->backend;
    const int dim = f->weights->shape.dim;
    on->matmul(&f->queue, state->other, MATRIX(LINEAR, d), input, VECTOR(LINEAR_BIAS, d), false,
               SPEC_COLUMNS_ALL);
    on->silu_add(&f->queue, f->x, f->normed, state->other, dim);
    if (state->model->head.shape.kind == SPEC_HEAD_HYDRA) {
        on->matmul(&f->queue, state->other, MATRIX(LINEAR2, d), f->x, VECTOR(LINEAR2_BIAS, d),
                   false, SPEC_COLUMNS_ALL);
        on->silu_add(&f->queue, f->x, f->x, state->other, dim);
    }
    on->matmul(&f->queue, logits, MATRIX(DEPTH_OUTPUT, d), f->x, NULL, false, SPEC_COLUMNS_ALL);
}

static int medusa(spec_head_state *state, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_forward *f = &state->forward;
    const spec_head_shape *shape = &state->model->head.shape;
    if (state->held) return status;
    SPEC_TRY(hold_feature(state, error));
    state->held = false; /* until the rows of the text are known */
    begin(state, 1, 0);
    ask_for_feature(state);
    for (int d = 0; d < shape->reach; d++) {
        state->row[d] = state->fixed + (size_t)d * (size_t)shape->shape.vocab;
        ask_for_depth(state, d, f->normed, f->logits + (size_t)d * (size_t)shape->draft_vocab);
    }
    SPEC_TRY(end(state, error));
    SPEC_TRY(spec_head_state_rows(state, shape->reach, error));
    state->held = true;
done:
    return status;
}

/* Returns the token `up` steps above a node on its path; or the last token of the text if that is
 * above the root. */
static int token_above(const spec_head_state *state, int node, int up)
{
    for (; up > 0 && node >= 0; up--) node = state->parent[node];
    return node >= 0 ? state->token[node] : state->text[state->n_text - 1];
}

static void hydra(spec_head_state *state, const int *node, int depth)
{
    spec_forward *f = &state->forward;
    const spec_backend *on = f->weights->backend;
    const int dim = f->weights->shape.dim, width = (depth + 2) * dim;
    ask_for_feature(state);
    on->join(&f->queue, state->wide, width, 0, f->normed, dim);
    for (int i = 0; i <= depth; i++) { /* x_n, then the path */
        for (int u = 0; u < state->batch.n; u++)
            state->batch.token[u] = token_above(state, node[u], depth - i);
        on->embed(&f->queue, f->x, &state->model->target->weights->embedding);
        on->join(&f->queue, state->wide, width, (i + 1) * dim, f->x, dim);
    }
    ask_for_depth(state, depth, state->wide, f->logits);
}

/* ---- ReDrafter ------------------------------------------------------------------------------- */

static void redrafter(spec_head_state *state, const int *node)
{
    spec_forward *f = &state->forward;
    const spec_backend *on = f->weights->backend;
    const spec_weights *w = &state->model->weights.base;
    const int dim = w->shape.dim;
    int before[SPEC_COLUMNS_MAX];
    for (int u = 0; u < state->batch.n; u++) {
        state->batch.token[u] = token_above(state, node[u], 0);
        state->batch.slot[u] = node[u] + 1;
        before[u] = node[u] >= 0 ? state->parent[node[u]] + 1 : state->kv.slots; /* zeros */
    }
    on->embed(&f->queue, f->x, &w->embedding);
    on->matmul(&f->queue, state->other, MATRIX(INPUT, 0), f->x, VECTOR(STATE_BIAS, 0), false,
               SPEC_COLUMNS_ALL);
    on->gather(&f->queue, f->x, state->kv.plane[STATES], dim, before);
    on->matmul(&f->queue, state->other, MATRIX(STATE, 0), f->x, NULL, true, SPEC_COLUMNS_ALL);
    on->silu_add(&f->queue, f->x, NULL, state->other, dim);
    on->tap(&f->queue, &state->kv, STATES, f->x);

    ask_for_feature(state);
    on->join(&f->queue, state->wide, 2 * dim, 0, f->x, dim);
    on->join(&f->queue, state->wide, 2 * dim, dim, f->normed, dim);
    on->matmul(&f->queue, state->other, MATRIX(MIX, 0), state->wide, VECTOR(MIX_BIAS, 0), false,
               SPEC_COLUMNS_ALL);
    on->silu_add(&f->queue, state->wide, state->wide, state->other, 2 * dim);
    on->matmul(&f->queue, state->other, MATRIX(MIX2, 0), state->wide, VECTOR(MIX2_BIAS, 0), false,
               SPEC_COLUMNS_ALL);
    on->silu_add(&f->queue, state->wide, state->wide, state->other, 2 * dim);
    on->matmul(&f->queue, f->logits, &w->output,
               state->wide + 2 * (size_t)state->batch.first * (size_t)dim, NULL, false,
               SPEC_COLUMNS_WANTED);
}

/* ---- rows by depth --------------------------------------------------------------------------- */

/* Computes the rows after nodes (-1: the root) of one depth; below `first`, only their states. */
static int pass(spec_head_state *state, const int *node, int n, int depth,
                const spec_score_request *request, spec_error *error)
{
    int status = GSL_SUCCESS, first = 0;
    while (first < n && node[first] + 1 < request->first) first++;
    for (int u = first; u < n; u++)
        state->row[u - first] =
            request->scratch + (size_t)(node[u] + 1) * (size_t)state->model->model.vocab;
    begin(state, n, first);
    if (state->model->head.shape.kind == SPEC_HEAD_HYDRA)
        hydra(state, node, depth);
    else
        redrafter(state, node);
    SPEC_TRY(end(state, error));
    SPEC_TRY(spec_head_state_rows(state, n - first, error));
done:
    return status;
}

/* Goes from the root to the deepest node, because a state needs its parent's state. Hydra needs no
 * states, and begins with the requested rows. */
static int rows_by_depth(spec_head_state *state, const spec_score_request *request,
                         spec_error *error)
{
    int status = GSL_SUCCESS, node[SPEC_COLUMNS_MAX], left;
    const bool recurrent = state->model->head.shape.kind == SPEC_HEAD_REDRAFTER;
    const int begins = !recurrent                          ? request->first - 1
                       : state->length[0] == state->n_text ? state->seen[0]
                                                           : -1;
    left = state->n_nodes - begins;
    for (int depth = 0; left > 0; depth++) {
        int n = 0;
        for (int i = begins; i <= state->n_nodes; i++) {
            const bool chosen = i < state->n_nodes && (i < 0 ? 0 : state->depth[i]) == depth;
            if (chosen) node[n++] = i;
            if (n == SPEC_COLUMNS_MAX || (n > 0 && i == state->n_nodes)) {
                SPEC_TRY(pass(state, node, n, depth, request, error));
                left -= n;
                n = 0;
            }
        }
    }
    state->length[0] = state->n_text;
    state->seen[0] = state->n_nodes;
done:
    return status;
}

int spec_head_feedforward_rows(spec_head_state *state, const spec_score_request *request,
                               spec_error *error)
{
    if (state->model->head.shape.kind == SPEC_HEAD_MEDUSA) return medusa(state, error);
    const int status = hold_feature(state, error);
    return status == GSL_SUCCESS ? rows_by_depth(state, request, error) : status;
}
