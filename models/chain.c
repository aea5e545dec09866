/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/chain.h"

#include "models/transformed_model.h"

#include <assert.h>
#include <stdlib.h>

/* Unwraps the session of a transformed model, at most once. */
static int unwrap(spec_session **ret_inner, spec_transform *ret_transform, spec_session *session,
                  const char *which, spec_error *error)
{
    *ret_inner = session;
    *ret_transform = SPEC_TRANSFORM_NONE;
    const spec_transform *transform = spec_transformed_model_transform(session->model);
    if (transform != NULL) {
        *ret_transform = *transform;
        *ret_inner = session->model->kind->session_base(session->data);
    }
    if ((*ret_inner)->model->kind->chain != NULL) return GSL_SUCCESS;
    return spec_fail(error, GSL_EUNSUP, "the %s is not on a device that can sample", which);
}

int spec_chain_init(spec_chain *chain, spec_session *target, spec_session *draft, int K,
                    spec_error *error)
{
    int status = GSL_SUCCESS;
    assert(K >= 0);
    *chain = (spec_chain){.K = K, .drafts = draft->model};
    SPEC_TRY(unwrap(&chain->target, &chain->target_transform, target, "target", error));
    SPEC_TRY(unwrap(&chain->draft, &chain->draft_transform, draft, "draft", error));
    chain->kind = chain->target->model->kind->chain;
    if (chain->kind != chain->draft->model->kind->chain)
        SPEC_TRY(spec_fail(error, GSL_EUNSUP, "target and draft are models of different kinds"));
    if (chain->target->model->vocab != chain->draft->model->vocab)
        SPEC_TRY(
            spec_fail(error, GSL_EUNSUP, "target and draft have vocabularies of different sizes"));
    SPEC_TRY(chain->kind->check(chain->target, chain->draft, K, error));
    chain->law = calloc((size_t)K + 1, sizeof *chain->law);
    if (chain->law == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM,
                           "out of memory for %d "
                           "distributions",
                           K));
    for (int i = 0; i < K; i++)
        SPEC_TRY(chain->kind->law_init(chain->draft, &chain->law[i], error));
done:
    if (status != GSL_SUCCESS) spec_chain_free(chain);
    return status;
}

void spec_chain_free(spec_chain *chain)
{
    for (int i = 0; i < chain->K && chain->law != NULL; i++)
        chain->kind->law_free(chain->draft, chain->law[i]);
    free(chain->law);
    *chain = (spec_chain){0};
}

/* All tokens are drawn before the host sees the first, so the device may draw some after the end of
 * a text. They are dropped here. */
int spec_chain_draw(spec_chain *chain, int *ret_token, int *ret_n, const int *context, size_t n,
                    int most, const double *opt_uniform, spec_error *error)
{
    assert(most >= 1 && most <= chain->K);
    const spec_draw_request request = {.n = most,
                                       .law = chain->law,
                                       .transform = &chain->draft_transform,
                                       .opt_uniform = opt_uniform};
    const int status = chain->kind->draw(chain->draft, ret_token, &request, context, n, error);
    *ret_n = 0;
    if (status != GSL_SUCCESS) return status;
    while (*ret_n < most) {
        const int token = ret_token[*ret_n];
        if (token < 0)
            return spec_fail(error, GSL_EDOM,
                             "the model's logits are not finite: its weights are broken, or "
                             "overflow");
        ++*ret_n;
        if (spec_model_ends_text(chain->drafts, token)) break;
    }
    return GSL_SUCCESS;
}

int spec_chain_guess(spec_chain *chain, int *ret_token, const int *context, size_t n,
                     spec_error *error)
{
    return chain->kind->guess(chain->draft, ret_token, context, n, error);
}

int spec_chain_score_begin(spec_chain *chain, const int *context, size_t n, const int *token,
                           int n_nodes, spec_error *error)
{
    assert(n_nodes >= 0 && n_nodes <= chain->K);
    const spec_score_request request = {
        .context = context, .n_context = n, .token = token, .n_nodes = n_nodes};
    return chain->kind->score_begin(chain->target, &request, error);
}

int spec_chain_score_end(spec_chain *chain, spec_error *error)
{
    return chain->kind->score_end(chain->target, error);
}

int spec_chain_verify(spec_chain *chain, spec_chain_outcome *outcome, const int *token, int n_nodes,
                      const double *uniform, spec_error *error)
{
    const spec_chain_request request = {.token = token,
                                        .n = n_nodes,
                                        .law = chain->law,
                                        .transform = &chain->target_transform,
                                        .uniform = uniform};
    return chain->kind->verify(chain->target, outcome, &request, error);
}
