/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/dflash/dflash_state.h"

#include "base/int_math.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

static int columns_of(float **ret_columns, const spec_backend *on, int width, spec_error *error)
{
    void *memory;
    const int status = on->alloc(on, &memory, on->columns_bytes(width), error);
    *ret_columns = memory;
    return status;
}

/* Allocates the arrays that the kind needs for its rows. */
static int rows_init(spec_dflash_state *state, spec_error *error)
{
    const spec_dflash_model *m = state->model;
    const spec_dflash_shape *shape = &m->dflash.shape;
    const size_t reach = (size_t)m->model.reach, few = (size_t)shape->draft_vocab,
                 k = (size_t)shape->candidates;
    bool lacks = false;
#define ARRAY(field, size)                                                                         \
    (state->field = malloc((size) * sizeof *state->field), lacks = lacks || state->field == NULL)
    ARRAY(row, SPEC_COLUMNS_MAX);
    if (m->dflash.opt_token != NULL) ARRAY(few, SPEC_COLUMNS_MAX * few);
    if (shape->kind == SPEC_DFLASH_PLAIN) ARRAY(fixed, reach * (size_t)m->model.vocab);
    if (shape->kind != SPEC_DFLASH_PLAIN) ARRAY(base, reach * few);
    if (shape->kind == SPEC_DFLASH_MARKOV) ARRAY(hidden, reach * (size_t)shape->shape.dim);
    if (shape->kind == SPEC_DFLASH_LATTICE) {
        ARRAY(gate, reach * (size_t)shape->selector_rank);
        ARRAY(candidate, reach * k);
        ARRAY(chosen, k);
    }
    return lacks ? spec_no_memory_for(error, m->path) : GSL_SUCCESS;
}

int spec_dflash_state_init(spec_dflash_state *state, const spec_dflash_model *model,
                           spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_backend *on = model->base.backend;
    const spec_dflash_shape *shape = &model->dflash.shape;
    const size_t context = (size_t)model->target->context;
    const size_t seen =
        (size_t)(spec_int_min(shape->window, model->target->context) + shape->block);
    *state = (spec_dflash_state){
        .model = model,
        .kernels = spec_vector_kernels_of(spec_cpu_isa()),
        .reader = {.target = model->target, .tap = shape->tap, .n_taps = shape->n_taps}};
    SPEC_TRY(spec_forward_init(&state->forward, &model->base, error));
    SPEC_TRY(on->widen(&state->forward.queue, model->widest, error));
    SPEC_TRY(columns_of(&state->feature, on, shape->shape.dim, error));
    SPEC_TRY(columns_of(&state->wide, on, model->widest, error));
    SPEC_TRY(columns_of(&state->other, on, model->widest, error));
    SPEC_TRY(columns_of(&state->coefficient, on, model->widest, error));
    SPEC_TRY(on->kv_init(on, &state->kv, &model->base.shape, SPEC_TENSOR_F32,
                         model->target->context + shape->block, error));
    SPEC_TRY(rows_init(state, error));
    state->text = malloc(2 * context * sizeof *state->text);
    state->path = malloc((size_t)shape->block * seen * sizeof *state->path);
    if (state->text == NULL || state->path == NULL)
        SPEC_TRY(spec_no_memory_for(error, model->path));
    state->next = state->text + context;
    state->batch.path = state->path;
done:
    if (status != GSL_SUCCESS) spec_dflash_state_free(state);
    return status;
}

void spec_dflash_state_free(spec_dflash_state *state)
{
    if (state->model == NULL) return;
    const spec_backend *on = state->model->base.backend;
    spec_target_reader_free(&state->reader);
    spec_forward_free(&state->forward);
    on->free(on, state->feature);
    on->free(on, state->wide);
    on->free(on, state->other);
    on->free(on, state->coefficient);
    on->kv_free(on, &state->kv);
    free(state->text); /* `next` is in the same block */
    free(state->path);
    free(state->row);
    free(state->few);
    free(state->fixed);
    free(state->base);
    free(state->hidden);
    free(state->gate);
    free(state->candidate);
    free(state->chosen);
    *state = (spec_dflash_state){0};
}

void spec_dflash_state_forget(spec_dflash_state *state)
{
    state->n_text = state->n_places = 0;
    state->held = false;
}

void spec_dflash_state_settle(spec_dflash_state *state, const int *text, int n_text)
{
    int common = 0;
    while (common < n_text && common < state->n_text && text[common] == state->text[common])
        common++;
    state->held = state->held && common == n_text && n_text == state->n_text;
    state->n_places = spec_int_min(state->n_places, spec_int_min(common, n_text - 1));
    memcpy(state->text, text, (size_t)n_text * sizeof *text);
    state->n_text = n_text;
}

int spec_dflash_state_rows(spec_dflash_state *state, int n, spec_error *error)
{
    const spec_dflash_model *m = state->model;
    return spec_target_reader_rows(&state->forward, state->row, state->few, m->dflash.opt_token,
                                   m->model.vocab, m->temperature, n, error);
}
