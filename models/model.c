/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model.h"

#include "speclab/no_memory.h"
#include "speclab/round.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int spec_model_load(spec_model *model, const spec_model *opt_target, spec_error *error)
{
    return model->kind->load != NULL ? model->kind->load(model, opt_target, error) : GSL_SUCCESS;
}

void spec_model_close(spec_model *model)
{
    if (model == NULL) return;
    free(model->spec);
    model->kind->close(model);
}

/* ---- sessions -------------------------------------------------------------------------------- */

int spec_session_init(spec_session *session, const spec_model *model, spec_error *error)
{
    int status = GSL_SUCCESS;
    *session = (spec_session){.model = model};
    if (model->kind->score == NULL) {
        session->history = calloc(SPEC_ORDER_MAX + SPEC_NODES_MAX, sizeof session->history[0]);
        if (session->history == NULL) SPEC_TRY(spec_no_memory(error));
    }
    if (model->kind->session_init != NULL)
        SPEC_TRY(model->kind->session_init(model, &session->data, error));
done:
    if (status != GSL_SUCCESS) {
        free(session->history);
        *session = (spec_session){0};
    }
    return status;
}

spec_session spec_session_lend(const spec_session *session)
{
    spec_session lent = *session;
    lent.lent = true;
    return lent;
}

void spec_session_free(spec_session *session)
{
    if (session->lent) *session = (spec_session){0};
    if (session->model != NULL && session->model->kind->session_free != NULL) {
        session->model->kind->session_free(session->model, session->data);
    }
    free(session->history);
    *session = (spec_session){0};
}

const double *spec_session_row(spec_session *session, const int *context, size_t n, double *scratch,
                               spec_error *error)
{
    return session->model->kind->row(session->model, session->data, context, n, scratch, error);
}

bool spec_session_declines(const spec_session *session)
{
    if (!session->model->declines) return false;
    while (session->model->kind->session_base != NULL)
        session = session->model->kind->session_base(session->data);
    return session->model->kind->declines(session->model, session->data);
}

bool spec_session_share(spec_session *draft, spec_session *target)
{
    while (draft->model->kind->session_base != NULL)
        draft = draft->model->kind->session_base(draft->data);
    while (target->model->kind->session_base != NULL)
        target = target->model->kind->session_base(target->data);
    const spec_model_kind *kind = draft->model->kind;
    return kind->session_share != NULL &&
           kind->session_share(draft->model, draft->data, target->model, target->data);
}

size_t spec_session_tail(int *ret_tail, int order, const int *context, size_t n, const int *token,
                         const int *opt_parent, int node)
{
    size_t used = 0;
    const size_t wanted = (size_t)order;
    for (; node >= 0 && used < wanted; node = opt_parent != NULL ? opt_parent[node] : node - 1) {
        ret_tail[wanted - ++used] = token[node];
    }
    for (; n > 0 && used < wanted; n--) ret_tail[wanted - ++used] = context[n - 1];
    if (used < wanted) memmove(ret_tail, ret_tail + (wanted - used), used * sizeof ret_tail[0]);
    return used;
}

/* All contexts of a chain are prefixes of one array, which holds the tail of the context and then
 * the tokens. */
static int score_chain(spec_session *session, const spec_score_request *request, spec_error *error)
{
    const spec_model *model = session->model;
    int *history = session->history;
    size_t length = spec_session_tail(history, model->order, request->context, request->n_context,
                                      request->token, NULL, request->first - 1);
    for (int i = request->first; i <= request->n_nodes; i++) {
        request->ret_row[i] =
            model->kind->row(model, session->data, history, length,
                             request->scratch + (size_t)i * (size_t)model->vocab, error);
        if (request->ret_row[i] == NULL) return GSL_EFAILED;
        if (i < request->n_nodes) history[length++] = request->token[i];
    }
    return GSL_SUCCESS;
}

static int score_tree(spec_session *session, const spec_score_request *request, spec_error *error)
{
    const spec_model *model = session->model;
    for (int i = request->first; i <= request->n_nodes; i++) {
        const size_t length =
            spec_session_tail(session->history, model->order, request->context, request->n_context,
                              request->token, request->opt_parent, i - 1);
        request->ret_row[i] =
            model->kind->row(model, session->data, session->history, length,
                             request->scratch + (size_t)i * (size_t)model->vocab, error);
        if (request->ret_row[i] == NULL) return GSL_EFAILED;
    }
    return GSL_SUCCESS;
}

static bool is_valid(const spec_score_request *request)
{
    return request->n_nodes >= 0 && request->n_nodes <= SPEC_NODES_MAX && request->first >= 0 &&
           request->first <= request->n_nodes;
}

int spec_session_score(spec_session *session, const spec_score_request *request, spec_error *error)
{
    assert(is_valid(request));
    const spec_model *model = session->model;
    if (model->kind->score != NULL) return model->kind->score(model, session->data, request, error);
    assert(model->order >= 0); /* a kind that reads the whole text has its own score */
    return request->opt_parent == NULL ? score_chain(session, request, error)
                                       : score_tree(session, request, error);
}

int spec_session_score_begin(spec_session *session, const spec_score_request *request,
                             spec_error *error)
{
    assert(is_valid(request));
    const spec_model *model = session->model;
    if (model->kind->score_begin == NULL) return spec_session_score(session, request, error);
    return model->kind->score_begin(model, session->data, request, error);
}

int spec_session_score_end(spec_session *session, spec_error *error)
{
    const spec_model *model = session->model;
    return model->kind->score_end != NULL ? model->kind->score_end(model, session->data, error)
                                          : GSL_SUCCESS;
}
