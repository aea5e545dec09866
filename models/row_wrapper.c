/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/row_wrapper.h"

#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_session base;
    int *order;               /* (V) */
    spec_score_request begun; /* the request of _score_begin */
} row_session;

static void free_session(const spec_model *model, void *data)
{
    (void)model;
    row_session *session = data;
    spec_session_free(&session->base);
    free(session->order);
    free(session);
}

static int init_session(const spec_model *model, void **ret_session, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_session = NULL;
    row_session *session = calloc(1, sizeof *session);
    if (session == NULL) return spec_no_memory(error);
    SPEC_TRY(spec_session_init(&session->base, ((const spec_wrapper *)model)->base, error));
    session->order = calloc((size_t)model->vocab, sizeof session->order[0]);
    if (session->order == NULL) SPEC_TRY(spec_no_memory(error));
    *ret_session = session;
done:
    if (status != GSL_SUCCESS) free_session(model, session);
    return status;
}

static spec_session *base_session(void *session)
{
    return &((row_session *)session)->base;
}

static const double *change_into(double *scratch, const double *row, const spec_model *model,
                                 int *order)
{
    if (row != scratch) memcpy(scratch, row, (size_t)model->vocab * sizeof scratch[0]);
    ((const spec_row_wrapper *)model)->change(scratch, model, order);
    return scratch;
}

static const double *row_after(const spec_model *model, void *data, const int *context, size_t n,
                               double *scratch, spec_error *error)
{
    row_session *session = data;
    const double *row = spec_session_row(&session->base, context, n, scratch, error);
    return row != NULL ? change_into(scratch, row, model, session->order) : NULL;
}

static int begin_score(const spec_model *model, void *data, const spec_score_request *request,
                       spec_error *error)
{
    (void)model;
    row_session *session = data;
    session->begun = *request;
    return spec_session_score_begin(&session->base, request, error);
}

static int end_score(const spec_model *model, void *data, spec_error *error)
{
    row_session *session = data;
    const spec_score_request *begun = &session->begun;
    const int status = spec_session_score_end(&session->base, error);
    for (int i = begun->first; i <= begun->n_nodes && status == GSL_SUCCESS; i++)
        begun->ret_row[i] = change_into(begun->scratch + (size_t)i * (size_t)model->vocab,
                                        begun->ret_row[i], model, session->order);
    return status;
}

static int score(const spec_model *model, void *data, const spec_score_request *request,
                 spec_error *error)
{
    const int status = begin_score(model, data, request, error);
    return status == GSL_SUCCESS ? end_score(model, data, error) : status;
}

int spec_row_wrapper_init(spec_row_wrapper *wrapper, spec_model *base, spec_row_change *change,
                          spec_error *error)
{
    const int status = spec_wrapper_init(&wrapper->wrapper, base, error);
    if (status != GSL_SUCCESS) return status;
    spec_model_kind *kind = &wrapper->wrapper.kind;
    kind->row = row_after;
    kind->score = score;
    kind->score_begin = begin_score;
    kind->score_end = end_score;
    kind->session_init = init_session;
    kind->session_free = free_session;
    kind->session_base = base_session;
    wrapper->change = change;
    return GSL_SUCCESS;
}

spec_row_change *spec_row_wrapper_change(const spec_model *model)
{
    return model->kind->score == score ? ((const spec_row_wrapper *)model)->change : NULL;
}
