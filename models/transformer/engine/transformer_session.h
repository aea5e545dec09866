/* SPDX-License-Identifier: GPL-3.0-or-later */
/* transformer_session: a transformer's KV cache on one text, which rolls back by comparing tokens.
 * It scores a context and a tree in passes of at most SPEC_COLUMNS_MAX tokens. A session owns its
 * KV cache or shares the target's. */
#ifndef SPECLAB_TRANSFORMER_SESSION_H
#define SPECLAB_TRANSFORMER_SESSION_H

#include "models/transformer/engine/transformer.h"

/* The session functions of the kinds in spec_model_kinds. If a request has no scratch, _score makes
 * no rows. After _end, the session's forward then holds the logits of all requested rows, at most
 * SPEC_COLUMNS_MAX. */
const double *spec_transformer_session_row(const spec_model *model, void *session,
                                           const int *context, size_t n, double *scratch,
                                           spec_error *error);
int spec_transformer_session_score(const spec_model *model, void *session,
                                   const spec_score_request *request, spec_error *error);
int spec_transformer_session_score_begin(const spec_model *model, void *session,
                                         const spec_score_request *request, spec_error *error);
int spec_transformer_session_score_end(const spec_model *model, void *session, spec_error *error);
int spec_transformer_session_init(const spec_model *model, void **ret_session, spec_error *error);
void spec_transformer_session_free(const spec_model *model, void *session);
bool spec_transformer_session_share(const spec_model *model, void *session,
                                    const spec_model *target, void *target_session);
extern const spec_chain_kind
    spec_transformer_chain; /* models/transformer/engine/transformer_chain.c */

/* For chains that a device draws (transformer_chain.c). A request may have a node whose token is
 * SPEC_TOKEN_DRAWN, if it needs only that node's row; _name then says which tokens the nodes of the
 * last request have. _begins_anew: whether the nodes after a context of n tokens form a text of
 * their own and are all computed in each request. */
void spec_transformer_session_name(void *session, const int *token);
bool spec_transformer_session_begins_anew(const void *session, size_t n);

/* Returns the forward of a session. */
spec_forward *spec_transformer_session_forward(void *session);

/* Returns how many experts' weights the passes of a session have read, each counted once per pass
 * and layer; 0 for a model without experts. Also works through wrappers. */
uint64_t spec_transformer_session_experts(const spec_session *session);

/* For draft heads; the session must own its KV cache.
 *
 * _tap: also keep the hidden states after these layers of the target (0: its embedding), in
 * addition to those from earlier calls; if that adds any, the session forgets its cache. Returns
 * GSL_EINVAL if its backend cannot keep that many. _follow: compute all tokens of a text except the
 * last one, unless they are cached. Slots 0..n-2 of the KV cache then have their hidden states. */
int spec_transformer_session_tap(void *session, const int *tap, int n, spec_error *error);
int spec_transformer_session_follow(void *session, const int *text, size_t n, spec_error *error);
const spec_kv *spec_transformer_session_kv(const void *session);

#endif
