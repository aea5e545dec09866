/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_state.h"

#include "models/transformer/engine/taps.h"
#include "models/transformer/engine/transformer_session.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int columns_of(float **ret_columns, const spec_backend *on, int width, spec_error *error)
{
    void *memory;
    const int status = on->alloc(on, &memory, on->columns_bytes(width), error);
    *ret_columns = memory;
    return status;
}

/* A head without layers has no keys and values. It uses plane 0 for the states of its rows, and
 * slot 0 of plane 1 for the context's feature. */
static int cache_init(spec_head_state *state, spec_error *error)
{
    int status = GSL_SUCCESS, plane[SPEC_TAPS_MAX];
    const spec_head_model *model = state->model;
    const spec_shape *shape = &model->weights.base.shape;
    const spec_backend *on = model->weights.base.backend;
    for (int i = 0; i < SPEC_TAPS_MAX; i++) plane[i] = i;
    if (shape->n_layers == 0)
        state->kv.slots = SPEC_NODES_MAX + 1;
    else
        SPEC_TRY(on->kv_init(on, &state->kv, shape, SPEC_TENSOR_F32,
                             model->target->context + SPEC_NODES_MAX, error));
    SPEC_TRY(on->taps_init(on, &state->kv, plane, shape->n_layers > 0 ? shape->n_layers : 2,
                           shape->dim, error));
done:
    return status;
}

int spec_head_state_init(spec_head_state *state, const spec_head_model *model, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_backend *on = model->weights.base.backend;
    const size_t context = (size_t)model->target->context, vocab = (size_t)model->model.vocab;
    const size_t few = (size_t)model->head.shape.draft_vocab;
    const int dim = model->weights.base.shape.dim, widest = model->weights.widest;
    const spec_head_shape *shape = &model->head.shape;
    *state = (spec_head_state){
        .model = model,
        .reader = {.target = model->target, .tap = shape->tap, .n_taps = shape->n_taps}};
    SPEC_TRY(spec_forward_init(&state->forward, &model->weights.base, error));
    SPEC_TRY(on->widen(&state->forward.queue, widest, error));
    SPEC_TRY(columns_of(&state->feature, on, dim, error));
    SPEC_TRY(columns_of(&state->wide, on, widest, error));
    SPEC_TRY(columns_of(&state->other, on, widest, error));
    SPEC_TRY(cache_init(state, error));
    state->text = malloc(2 * context * sizeof *state->text);
    state->path = malloc((size_t)SPEC_COLUMNS_MAX * SPEC_NODES_MAX * sizeof *state->path);
    state->row = malloc(SPEC_COLUMNS_MAX * sizeof *state->row);
    if (model->head.opt_token != NULL)
        state->few = malloc(SPEC_COLUMNS_MAX * few * sizeof *state->few);
    if (model->model.one_pass)
        state->fixed = malloc((size_t)model->model.reach * vocab * sizeof *state->fixed);
    if (state->text == NULL || state->path == NULL || state->row == NULL ||
        (model->head.opt_token != NULL && state->few == NULL) ||
        (model->model.one_pass && state->fixed == NULL))
        SPEC_TRY(spec_no_memory_for(error, model->path));
    state->next = state->text + context;
    state->batch.path = state->path;
done:
    if (status != GSL_SUCCESS) spec_head_state_free(state);
    return status;
}

void spec_head_state_free(spec_head_state *state)
{
    if (state->model == NULL) return;
    const spec_backend *on = state->model->weights.base.backend;
    spec_target_reader_free(&state->reader);
    spec_forward_free(&state->forward);
    on->free(on, state->feature);
    on->free(on, state->wide);
    on->free(on, state->other);
    on->kv_free(on, &state->kv);
    free(state->text); /* `next` is in the same block */
    free(state->path);
    free(state->row);
    free(state->few);
    free(state->fixed);
    *state = (spec_head_state){0};
}

/* ---- the text and the tree ------------------------------------------------------------------- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

void spec_head_state_forget(spec_head_state *state)
{
    state->n_text = state->n_nodes = 0;
    state->held = false;
    memset(state->length, 0, sizeof state->length);
    memset(state->seen, 0, sizeof state->seen);
}

/* Copies the tree; returns how many nodes at its beginning are the same as before. */
static int take_tree(spec_head_state *state, const spec_score_request *request)
{
    int same = 0;
    for (int i = 0; i < request->n_nodes; i++) {
        const int token = request->token[i],
                  parent = request->opt_parent != NULL ? request->opt_parent[i] : i - 1;
        assert(token >= 0 && token < state->model->model.vocab && parent >= -1 && parent < i);
        if (same == i && i < state->n_nodes && state->token[i] == token &&
            state->parent[i] == parent)
            same++;
        state->token[i] = token;
        state->parent[i] = parent;
        state->depth[i] = parent < 0 ? 1 : state->depth[parent] + 1;
    }
    state->n_nodes = request->n_nodes;
    return same;
}

void spec_head_state_settle(spec_head_state *state, const int *text, int n_text,
                            const spec_score_request *request)
{
    int common = 0;
    while (common < n_text && common < state->n_text && text[common] == state->text[common])
        common++;
    const bool same_text = common == n_text && n_text == state->n_text;
    const int same = take_tree(state, request), first = request->first;
    /* the column of the last token is computed again, for its logits */
    const int places = same_text && first > 0 ? n_text : least(common, n_text - 1),
              nodes = same_text ? least(same, first > 0 ? first - 1 : 0) : 0;
    for (int l = 0; l < SPEC_HEAD_REACH_MAX; l++) {
        state->length[l] = least(state->length[l], places);
        state->seen[l] = least(state->seen[l], nodes);
    }
    state->held = state->held && same_text;
    memcpy(state->text, text, (size_t)n_text * sizeof *text);
    state->n_text = n_text;
}

/* ---- the target ------------------------------------------------------------------------------ */

const float *spec_head_state_plane(const spec_head_state *state, int i)
{
    const spec_kv *kv = spec_transformer_session_kv(state->reader.session);
    return kv->plane[spec_taps_find(kv, state->model->head.shape.tap[i])];
}

int spec_head_state_plane_row(const spec_head_state *state, int place)
{
    return place > 0 ? place - 1 : spec_transformer_session_kv(state->reader.session)->slots;
}

/* ---- rows ------------------------------------------------------------------------------------ */

int spec_head_state_rows(spec_head_state *state, int n, spec_error *error)
{
    const spec_head_model *m = state->model;
    return spec_target_reader_rows(&state->forward, state->row, state->few, m->head.opt_token,
                                   m->model.vocab, m->temperature, n, error);
}
