/* chain: draft tokens drawn, and verified by the token rule, where the rows are: tokens alone cross the bus.
 * For two models whose rows are made on one device that can do it, under temperature and filters alone. A chain owns
 * the laws that its tokens were drawn from, in the device's memory, and borrows the sessions. [Leviathan23] */
#ifndef SPECLAB_CHAIN_H
#define SPECLAB_CHAIN_H

#include "models/model.h"
#include "models/transform.h"

typedef struct {
    const spec_chain_kind *kind;
    spec_session *target, *draft; /* of the models inside the filters */
    spec_transform target_transform, draft_transform;
    int K;
    void **law; /* (K) of the tokens, the device's own */
} spec_chain;

/* What a kind of model does for chains; a line of its table points here. Texts as spec_session_score takes them. */
struct spec_chain_kind {
    /* GSL_EUNSUP with the reason where these sessions, of models of this kind, cannot. */
    int (*check)(const spec_session *target, const spec_session *draft, int K, spec_error *why);
    int (*law_init)(const spec_session *draft, void **ret_law, spec_error *error);
    void (*law_free)(const spec_session *draft, void *law);
    int (*draw)(spec_session *draft, int *ret_token, void *law, const int *context, size_t n, const int *token,
                int n_nodes, const spec_transform *transform, double uniform, spec_error *error);
    int (*guess)(spec_session *draft, int *ret_token, const int *context, size_t n, spec_error *error);
    int (*score_begin)(spec_session *target, const int *context, size_t n, const int *token, int n_nodes,
                       spec_error *error);
    int (*score_end)(spec_session *target, spec_error *error);
    int (*verify)(spec_session *target, int *ret_n_accepted, int *ret_token, double *ret_chance, int *ret_used,
                  void *const *law, const int *token, int n_nodes, const spec_transform *transform,
                  const double *uniform, spec_error *error);
};

/* Chains of at most K tokens. GSL_EUNSUP, with the reason, where these sessions cannot: models of another kind, on
 * different devices, on one that draws nothing (the processor, whose rows are at hand), or wrapped in more than
 * filters. */
int spec_chain_init(spec_chain *chain, spec_session *target, spec_session *draft, int K, spec_error *error);
void spec_chain_free(spec_chain *chain); /* a zeroed one is fine */

/* The chain's token i after the context of n tokens and token[0..i-1]: the one that spec_chance_pick takes of the
 * draft's row with this uniform in [0,1). Its law is kept for _verify. */
int spec_chain_draw(spec_chain *chain, int *ret_token, const int *context, size_t n, const int *token, int i,
                    double uniform, spec_error *error);

/* The draft's most probable token after the context, the lowest of ties. */
int spec_chain_guess(spec_chain *chain, int *ret_token, const int *context, size_t n, spec_error *error);

/* The target's pass over context and chain, in two halves as spec_session_score_begin has them, without rows. */
int spec_chain_score_begin(spec_chain *chain, const int *context, size_t n, const int *token, int n_nodes,
                           spec_error *error);
int spec_chain_score_end(spec_chain *chain, spec_error *error);

/* After _score_end, the token rule on these n_nodes >= 1 tokens: how many are accepted, the correction or bonus, and
 * with which chance each tested one was to be accepted, ret_chance (n_nodes). uniform (n_nodes+2) are used one after the
 * other as the rule uses them on rows (sim/verify/verify_token.c), *ret_used of them. */
int spec_chain_verify(spec_chain *chain, int *ret_n_accepted, int *ret_token, double *ret_chance, int *ret_used,
                      const int *token, int n_nodes, const double *uniform, spec_error *error);

#endif
