/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The chain functions of transformers (models/chain.h): the same passes as in a score, but the
 * backend samples instead of making rows. */
#include "models/chain.h"
#include "models/transformer/engine/transformer_session.h"

#include <assert.h>

static const spec_transformer *model_of(const spec_session *session)
{
    return (const spec_transformer *)session->model;
}

static const spec_backend *backend_of(const spec_session *session)
{
    return model_of(session)->weights->backend;
}

/* Returns the filters, with the temperature that the transformer applies. */
static spec_transform whole(const spec_session *session, const spec_transform *transform)
{
    spec_transform all = *transform;
    all.temperature = model_of(session)->temperature;
    return all;
}

static int check(const spec_session *target, const spec_session *draft, int K, spec_error *why)
{
    const spec_backend *backend = backend_of(target);
    if (backend != backend_of(draft))
        return spec_fail(why, GSL_EUNSUP, "the target's rows are on %s and the draft's on %s",
                         backend->name, backend_of(draft)->name);
    if (backend->draw == NULL || backend->verify == NULL)
        return spec_fail(why, GSL_EUNSUP, "the models are on %s, which does not sample",
                         backend->name);
    if (K >= SPEC_COLUMNS_MAX)
        return spec_fail(why, GSL_EUNSUP, "drafts of %d tokens take more than one pass of %d", K,
                         SPEC_COLUMNS_MAX);
    return GSL_SUCCESS;
}

static int law_init(const spec_session *draft, void **ret_law, spec_error *error)
{
    const spec_backend *backend = backend_of(draft);
    return backend->alloc(backend, ret_law, backend->law_bytes(draft->model->vocab), error);
}

static void law_free(const spec_session *draft, void *law)
{
    backend_of(draft)->free(backend_of(draft), law);
}

/* Queues the pass for the requested logits, which stay in the backend's memory. Sampling from them
 * is queued after the pass, so that the host waits only once. */
static int ask_for_logits(spec_session *session, const spec_score_request *request,
                          spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_transformer_session_score_begin(session->model, session->data, request, error));
    SPEC_TRY(spec_transformer_session_score_end(session->model, session->data, error));
done:
    return status;
}

/* Queues all passes and draws, each pass after the token that the device has just drawn, and then
 * waits once. Where the tokens of an empty context begin anew (transformer_session.h), each pass
 * has all of them, so the host must know them. */
static int draw(spec_session *draft, int *ret_token, const spec_draw_request *request,
                const int *context, size_t n, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_forward *forward = spec_transformer_session_forward(draft->data);
    const spec_backend *on = backend_of(draft);
    spec_transform all = whole(draft, request->transform);
    const bool again = spec_transformer_session_begins_anew(draft->data, n);
    if (request->opt_uniform == NULL) all.temperature = 0.0;
    spec_draw_request own = *request;
    own.transform = &all;
    own.logits = forward->logits;
    for (int i = 0; i < request->n; i++) {
        ret_token[i] = SPEC_TOKEN_DRAWN;
        const spec_score_request pass = {
            .context = context, .n_context = n, .token = ret_token, .n_nodes = i, .first = i};
        SPEC_TRY(ask_for_logits(draft, &pass, error));
        SPEC_TRY(on->draw(&forward->queue, &own, i, error));
        if (again || i + 1 == request->n)
            SPEC_TRY(on->drawn(&forward->queue, ret_token, i + 1, error));
        if (again && ret_token[i] < 0) goto done;
    }
    spec_transformer_session_name(draft->data, ret_token);
done:
    if (status != GSL_SUCCESS) (void)spec_forward_wait(forward, &(spec_error){{0}});
    return status;
}

static int guess(spec_session *draft, int *ret_token, const int *context, size_t n,
                 spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_forward *forward = spec_transformer_session_forward(draft->data);
    const spec_score_request request = {.context = context, .n_context = n};
    SPEC_TRY(ask_for_logits(draft, &request, error));
    SPEC_TRY(backend_of(draft)->argmax(&forward->queue, ret_token, forward->logits, 1, error));
done:
    return status;
}

static int score_begin(spec_session *target, const spec_score_request *chain, spec_error *error)
{
    return spec_transformer_session_score_begin(target->model, target->data, chain, error);
}

/* Waits for the pass, because this is where the time of a round is divided into scoring and
 * verification. */
static int score_end(spec_session *target, spec_error *error)
{
    const int status = spec_transformer_session_score_end(target->model, target->data, error);
    return status == GSL_SUCCESS
               ? spec_forward_wait(spec_transformer_session_forward(target->data), error)
               : status;
}

static int verify(spec_session *target, spec_chain_outcome *outcome,
                  const spec_chain_request *request, spec_error *error)
{
    spec_forward *forward = spec_transformer_session_forward(target->data);
    const spec_transform all = whole(target, request->transform);
    spec_chain_request inner = *request;
    inner.transform = &all;
    return backend_of(target)->verify(&forward->queue, outcome, forward->logits, &inner, error);
}

const spec_chain_kind spec_transformer_chain = {
    .check = check,
    .law_init = law_init,
    .law_free = law_free,
    .draw = draw,
    .guess = guess,
    .score_begin = score_begin,
    .score_end = score_end,
    .verify = verify,
};
