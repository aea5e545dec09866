/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/dflash/dflash_layers.h"
#include "models/dflash/dflash_state.h"
#include "models/transformer/engine/taps.h"
#include "models/transformer/engine/transformer_session.h"

/* ---- the context ----------------------------------------------------------------------------- */

static void add_column(spec_dflash_state *state, int token, int place)
{
    spec_batch *batch = &state->batch;
    const int u = batch->n++;
    batch->token[u] = token;
    batch->position[u] = batch->slot[u] = batch->past[u] = place;
    batch->path_begin[u + 1] = 0;
}

/* Computes keys and values of positions from..until-1, in one pass. */
static int pass_context(spec_dflash_state *state, int from, int until, spec_error *error)
{
    spec_forward *f = &state->forward;
    const spec_dflash_model *m = state->model;
    const spec_dflash_shape *shape = &m->dflash.shape;
    const spec_backend *on = m->base.backend;
    const spec_kv *target = spec_transformer_session_kv(state->reader.session);
    const int dim = shape->shape.dim, wide = shape->n_taps * dim;
    int row[SPEC_COLUMNS_MAX];
    state->batch.n = 0;
    for (int place = from; place < until; place++) {
        row[state->batch.n] = place;
        add_column(state, 0, place);
    }
    state->batch.first = state->batch.n;
    on->begin(&f->queue, &state->batch, &state->kv, NULL, 0);
    for (int i = 0; i < shape->n_taps; i++) {
        const float *plane = target->plane[spec_taps_find(target, shape->tap[i])];
        on->gather(&f->queue, state->other, plane, dim, row);
        on->join(&f->queue, state->wide, wide, i * dim, state->other, dim);
    }
    on->matmul(&f->queue, state->feature, &m->matrix[SPEC_DFLASH_FC][0], state->wide, NULL, false,
               SPEC_COLUMNS_ALL);
    on->norm(&f->queue, state->feature, state->feature, m->vector[SPEC_DFLASH_CONTEXT_NORM][0],
             SPEC_COLUMNS_ALL, NULL);
    for (int l = 0; l < shape->shape.n_layers; l++)
        spec_dflash_layers_store(state, l, state->feature);
    on->end(&f->queue);
    return on->wait(&f->queue, error);
}

/* ---- the block ------------------------------------------------------------------------------- */

static int pass_block(spec_dflash_state *state, spec_error *error)
{
    spec_forward *f = &state->forward;
    const spec_dflash_model *m = state->model;
    const spec_dflash_shape *shape = &m->dflash.shape;
    const spec_backend *on = m->base.backend;
    const int first = state->n_text - 1,
              skipped = shape->block - m->model.reach; /* columns of the block that draft nothing */
    state->batch.n = 0;
    for (int i = 0; i < shape->block; i++)
        add_column(state, i == 0 ? state->text[first] : shape->mask, first + i);
    state->batch.first = skipped;
    on->begin(&f->queue, &state->batch, &state->kv, NULL, 0);
    on->embed(&f->queue, f->x, m->embedding);
    for (int l = 0; l < shape->shape.n_layers; l++) spec_dflash_layers_run(state, l);
    on->norm(&f->queue, f->normed, f->x, m->base.final_norm, SPEC_COLUMNS_WANTED, NULL);
    on->matmul(&f->queue, f->logits, m->output, f->normed, NULL, false, SPEC_COLUMNS_WANTED);
    if (shape->kind != SPEC_DFLASH_MARKOV) {
        spec_dflash_layers_scale(f->logits, (size_t)m->model.reach * (size_t)shape->draft_vocab,
                                 shape->logit_scale);
        if (shape->shape.logit_cap > 0.0f) on->cap(&f->queue, f->logits);
    }
    if (shape->kind == SPEC_DFLASH_LATTICE)
        on->matmul(&f->queue, state->other, &m->matrix[SPEC_DFLASH_SELECTOR][0], f->normed, NULL,
                   false, SPEC_COLUMNS_WANTED);
    on->end(&f->queue);
    return on->wait(&f->queue, error);
}

int spec_dflash_pass(spec_dflash_state *state, spec_error *error)
{
    int status = GSL_SUCCESS;
    const int n = state->n_text - 1;
    SPEC_TRY(spec_target_reader_follow(&state->reader, state->text, state->n_text, error));
    while (state->n_places < n) {
        const int left = n - state->n_places,
                  until = state->n_places + (left < SPEC_COLUMNS_MAX ? left : SPEC_COLUMNS_MAX);
        SPEC_TRY(pass_context(state, state->n_places, until, error));
        state->n_places = until;
    }
    SPEC_TRY(pass_block(state, error));
done:
    return status;
}
