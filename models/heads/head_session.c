/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_session.h"

#include "models/heads/head_feedforward.h"
#include "models/heads/head_layers.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

int spec_head_session_init(const spec_model *model, void **ret_session, spec_error *error)
{
    spec_head_state *state = malloc(sizeof *state);
    *ret_session = NULL;
    if (state == NULL) return spec_no_memory(error);
    const int status = spec_head_state_init(state, (const spec_head_model *)model, error);
    if (status == GSL_SUCCESS)
        *ret_session = state;
    else
        free(state);
    return status;
}

void spec_head_session_free(const spec_model *model, void *data)
{
    (void)model;
    if (data == NULL) return;
    spec_head_state_free(data);
    free(data);
}

bool spec_head_session_share(const spec_model *model, void *data, const spec_model *target,
                             void *target_data)
{
    (void)model;
    return spec_target_reader_share(&((spec_head_state *)data)->reader, target, target_data);
}

/* Copies to each node the row of its depth. */
static void copy_fixed(const spec_head_state *state, const spec_score_request *request)
{
    const size_t vocab = (size_t)state->model->model.vocab;
    for (int i = request->first; i <= request->n_nodes; i++)
        memcpy(request->scratch + (size_t)i * vocab,
               state->fixed + (size_t)spec_target_reader_depth(request, i - 1) * vocab,
               vocab * sizeof *request->scratch);
}

int spec_head_session_score(const spec_model *model, void *data, const spec_score_request *request,
                            spec_error *error)
{
    int status = GSL_SUCCESS;
    size_t n_text;
    const spec_head_model *m = (const spec_head_model *)model;
    spec_head_state *state = data;
    spec_score_request root = *request;
    root.n_nodes = root.first = 0;
    SPEC_TRY(spec_transformer_text(m->target, state->next, &n_text, request->context,
                                   request->n_context, error));
    SPEC_TRY(spec_target_reader_check(&state->reader, model, m->path, (int)n_text, request, error));
    spec_head_state_settle(state, state->next, (int)n_text, model->one_pass ? &root : request);
    status = m->head.shape.kind < SPEC_HEAD_EAGLE
                 ? spec_head_feedforward_rows(state, request, error)
                 : spec_head_layers_rows(state, request, error);
    if (status != GSL_SUCCESS) spec_head_state_forget(state);
    SPEC_TRY(status);
    if (model->one_pass) copy_fixed(state, request);
    for (int i = request->first; i <= request->n_nodes; i++)
        request->ret_row[i] = request->scratch + (size_t)i * (size_t)model->vocab;
done:
    return status;
}

const double *spec_head_session_row(const spec_model *model, void *session, const int *context,
                                    size_t n, double *scratch, spec_error *error)
{
    const double *row;
    const int status = spec_head_session_score(
        model, session,
        &(spec_score_request){
            .context = context, .n_context = n, .ret_row = &row, .scratch = scratch},
        error);
    return status == GSL_SUCCESS ? row : NULL;
}
