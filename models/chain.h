/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chain: samples draft tokens, and verifies them by the token rule, on the device with the logits.
 * Only tokens cross the bus. Both models must be on one device that can sample, and may be wrapped
 * only in temperature and filters. A chain owns its tokens' laws, in device memory, and borrows the
 * sessions. [Leviathan23] */
#ifndef SPECLAB_CHAIN_H
#define SPECLAB_CHAIN_H

#include "models/chain_request.h"
#include "models/model.h"

typedef struct {
    const spec_chain_kind *kind;
    spec_session *target, *draft; /* of the models inside the filters */
    spec_transform target_transform, draft_transform;
    const spec_model *drafts; /* the draft model with its filters */
    int K;
    void **law; /* (K) the laws from which the tokens were drawn, in the device's own format */
} spec_chain;

/* The functions that a kind of model offers for chains; spec_model_kind.chain points to them. A
 * request here is always for a chain without rows: opt_parent, ret_row and scratch are NULL. */
struct spec_chain_kind {
    /* Returns GSL_EUNSUP, with the reason, if these sessions of this kind cannot form a chain. */
    int (*check)(const spec_session *target, const spec_session *draft, int K, spec_error *why);
    int (*law_init)(const spec_session *draft, void **ret_law, spec_error *error);
    void (*law_free)(const spec_session *draft, void *law);
    /* A token drawn from logits that are not finite is negative. */
    int (*draw)(spec_session *draft, int *ret_token, const spec_draw_request *request,
                const int *context, size_t n, spec_error *error);
    int (*guess)(spec_session *draft, int *ret_token, const int *context, size_t n,
                 spec_error *error);
    int (*score_begin)(spec_session *target, const spec_score_request *chain, spec_error *error);
    int (*score_end)(spec_session *target, spec_error *error);
    int (*verify)(spec_session *target, spec_chain_outcome *outcome,
                  const spec_chain_request *request, spec_error *error);
};

/* Sets up chains of at most K tokens. Returns GSL_EUNSUP, with the reason, if the models are of
 * different kinds or on two devices, if the device cannot sample (the CPU), or if a model is in
 * another wrapper. */
int spec_chain_init(spec_chain *chain, spec_session *target, spec_session *draft, int K,
                    spec_error *error);
void spec_chain_free(spec_chain *chain); /* may be zeroed */

/* Draws a chain of at most `most` tokens, 1 <= most <= K, after the context of n tokens: fewer if
 * one ends the draft model's texts. ret_token (most); its first *ret_n are the chain. With
 * opt_uniform[i] in [0,1), (most), spec_chance_pick would pick token i from the draft's row; with
 * NULL it is the most probable token, and its law one-hot. Keeps the tokens' laws for _verify. */
int spec_chain_draw(spec_chain *chain, int *ret_token, int *ret_n, const int *context, size_t n,
                    int most, const double *opt_uniform, spec_error *error);

/* Returns the draft's most probable token after the context, the lowest id among ties. */
int spec_chain_guess(spec_chain *chain, int *ret_token, const int *context, size_t n,
                     spec_error *error);

/* Runs the target's pass over context and chain, in two halves like spec_session_score_begin but
 * without rows. */
int spec_chain_score_begin(spec_chain *chain, const int *context, size_t n, const int *token,
                           int n_nodes, spec_error *error);
int spec_chain_score_end(spec_chain *chain, spec_error *error);

/* Applies the token rule to these n_nodes >= 1 tokens, with uniform (n_nodes+2) in [0,1). Call it
 * after _score_end. The caller owns outcome->chance (n_nodes). */
int spec_chain_verify(spec_chain *chain, spec_chain_outcome *outcome, const int *token, int n_nodes,
                      const double *uniform, spec_error *error);

#endif
