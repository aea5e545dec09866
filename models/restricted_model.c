/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/restricted_model.h"

#include "models/row.h"
#include "models/token_file.h"
#include "models/wrapper.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_wrapper wrapper;
    bool kept[]; /* (V) */
} restricted;

typedef struct {
    spec_session base;
    spec_score_request begun; /* the request of _score_begin */
} restricted_session;

static int init_session(const spec_model *model, void **ret_session, spec_error *error)
{
    restricted_session *session = calloc(1, sizeof *session);
    *ret_session = session;
    if (session == NULL) return spec_no_memory(error);
    const int status =
        spec_session_init(&session->base, ((const spec_wrapper *)model)->base, error);
    if (status == GSL_SUCCESS) return status;
    free(session);
    *ret_session = NULL;
    return status;
}

static void free_session(const spec_model *model, void *session)
{
    (void)model;
    spec_session_free(&((restricted_session *)session)->base);
    free(session);
}

static spec_session *base_session(void *session)
{
    return &((restricted_session *)session)->base;
}

static const double *restrict_into(double *scratch, const double *row, const spec_model *model)
{
    const restricted *m = (const restricted *)model;
    double kept = 0.0;
    for (int i = 0; i < model->vocab; i++) {
        scratch[i] = m->kept[i] ? row[i] : 0.0;
        kept += scratch[i];
    }
    for (int i = 0; i < model->vocab && !(kept > 0.0); i++) scratch[i] = m->kept[i] ? 1.0 : 0.0;
    spec_row_normalise(scratch, model->vocab);
    return scratch;
}

static const double *restricted_row(const spec_model *model, void *session, const int *context,
                                    size_t n, double *scratch, spec_error *error)
{
    const double *row = spec_session_row(base_session(session), context, n, scratch, error);
    return row != NULL ? restrict_into(scratch, row, model) : NULL;
}

static int begin_score(const spec_model *model, void *data, const spec_score_request *request,
                       spec_error *error)
{
    (void)model;
    restricted_session *session = data;
    session->begun = *request;
    return spec_session_score_begin(&session->base, request, error);
}

static int end_score(const spec_model *model, void *data, spec_error *error)
{
    restricted_session *session = data;
    const spec_score_request *begun = &session->begun;
    const int status = spec_session_score_end(&session->base, error);
    for (int i = begun->first; i <= begun->n_nodes && status == GSL_SUCCESS; i++)
        begun->ret_row[i] = restrict_into(begun->scratch + (size_t)i * (size_t)model->vocab,
                                          begun->ret_row[i], model);
    return status;
}

static int restricted_score(const spec_model *model, void *session,
                            const spec_score_request *request, spec_error *error)
{
    const int status = begin_score(model, session, request, error);
    return status == GSL_SUCCESS ? end_score(model, session, error) : status;
}

static int read_ids(restricted *m, const char *ids, int vocab, spec_error *error)
{
    int *token = NULL, n, first, status = GSL_SUCCESS;
    if (ids[strspn(ids, "0123456789")] == '\0') {
        if (!spec_settings_parse_int(&first, ids) || first < 1 || first > vocab)
            return spec_fail(error, GSL_EINVAL,
                             "ids=%.40s: the model has %d tokens; give a number from 1 to %d, or a "
                             "file of token numbers",
                             ids, vocab, vocab);
        for (int i = 0; i < first; i++) m->kept[i] = true;
        return GSL_SUCCESS;
    }
    SPEC_TRY(spec_token_file_read_numbers(&token, &n, ids, vocab, error));
    for (int i = 0; i < n; i++) m->kept[token[i]] = true;
done:
    free(token);
    return status;
}

int spec_restricted_model_open(spec_model **ret_model, spec_model *base, const char *ids,
                               spec_error *error)
{
    int status = GSL_SUCCESS;
    restricted *model = calloc(1, sizeof *model + (size_t)base->vocab * sizeof model->kept[0]);
    if (model == NULL) return spec_no_memory(error);
    SPEC_TRY(read_ids(model, ids, base->vocab, error));
    SPEC_TRY(spec_wrapper_init(&model->wrapper, base, error));
    model->wrapper.head.one_hot = false; /* a row without a kept token is not */
    model->wrapper.kind.row = restricted_row;
    model->wrapper.kind.score = restricted_score;
    model->wrapper.kind.score_begin = begin_score;
    model->wrapper.kind.score_end = end_score;
    model->wrapper.kind.session_init = init_session;
    model->wrapper.kind.session_free = free_session;
    model->wrapper.kind.session_base = base_session;
    *ret_model = &model->wrapper.head;
    model = NULL;
done:
    free(model);
    return status;
}
