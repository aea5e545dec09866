/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformed_model.h"

#include "models/wrapper.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_wrapper wrapper;
    spec_transform transform;
} transformed;

typedef struct {
    spec_session base;
    int *order;               /* (V) */
    spec_score_request begun; /* the request of _score_begin */
} transformed_session;

static int init_session(const spec_model *model, void **ret_session, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_session = NULL;
    transformed_session *session = calloc(1, sizeof *session);
    if (session == NULL) return spec_no_memory(error);
    SPEC_TRY(spec_session_init(&session->base, ((const spec_wrapper *)model)->base, error));
    session->order = calloc((size_t)model->vocab, sizeof session->order[0]);
    if (session->order == NULL) SPEC_TRY(spec_no_memory(error));
    *ret_session = session;
    session = NULL;
done:
    if (session != NULL) {
        spec_session_free(&session->base);
        free(session);
    }
    return status;
}

static void free_session(const spec_model *model, void *data)
{
    (void)model;
    transformed_session *session = data;
    spec_session_free(&session->base);
    free(session->order);
    free(session);
}

static spec_session *base_session(void *session)
{
    return &((transformed_session *)session)->base;
}

static const double *transform_into(double *scratch, const double *row, const spec_model *model,
                                    int *order)
{
    if (row != scratch) memcpy(scratch, row, (size_t)model->vocab * sizeof scratch[0]);
    spec_transform_apply(scratch, model->vocab, &((const transformed *)model)->transform, order);
    return scratch;
}

static const double *transformed_row(const spec_model *model, void *data, const int *context,
                                     size_t n, double *scratch, spec_error *error)
{
    transformed_session *session = data;
    const double *row = spec_session_row(&session->base, context, n, scratch, error);
    if (row == NULL) return NULL;
    return transform_into(scratch, row, model, session->order);
}

static int begin_score(const spec_model *model, void *data, const spec_score_request *request,
                       spec_error *error)
{
    (void)model;
    transformed_session *session = data;
    session->begun = *request;
    return spec_session_score_begin(&session->base, request, error);
}

static int end_score(const spec_model *model, void *data, spec_error *error)
{
    int status = GSL_SUCCESS;
    transformed_session *session = data;
    const spec_score_request *begun = &session->begun;
    SPEC_TRY(spec_session_score_end(&session->base, error));
    for (int i = begun->first; i <= begun->n_nodes; i++)
        begun->ret_row[i] = transform_into(begun->scratch + (size_t)i * (size_t)model->vocab,
                                           begun->ret_row[i], model, session->order);
done:
    return status;
}

static int transformed_score(const spec_model *model, void *data, const spec_score_request *request,
                             spec_error *error)
{
    const int status = begin_score(model, data, request, error);
    return status == GSL_SUCCESS ? end_score(model, data, error) : status;
}

int spec_transformed_model_open(spec_model **ret_model, spec_model *base,
                                const spec_transform *transform, spec_error *error)
{
    int status = GSL_SUCCESS;
    transformed *model = calloc(1, sizeof *model);
    if (model == NULL) return spec_no_memory(error);
    SPEC_TRY(spec_wrapper_init(&model->wrapper, base, error));
    model->wrapper.head.one_hot = base->one_hot || transform->temperature == 0.0;
    model->wrapper.kind.row = transformed_row;
    model->wrapper.kind.score = transformed_score;
    model->wrapper.kind.score_begin = begin_score;
    model->wrapper.kind.score_end = end_score;
    model->wrapper.kind.session_init = init_session;
    model->wrapper.kind.session_free = free_session;
    model->wrapper.kind.session_base = base_session;
    model->transform = *transform;
    *ret_model = &model->wrapper.head;
    model = NULL;
done:
    free(model);
    return status;
}

const spec_transform *spec_transformed_model_transform(const spec_model *model)
{
    return model->kind->score == transformed_score ? &((const transformed *)model)->transform
                                                   : NULL;
}
