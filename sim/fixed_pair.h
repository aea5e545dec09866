/* fixed_pair: the token rule for one target and one draft distribution that never change, through alias tables.
 * One step drafts a token, tests it and corrects it where it is rejected: exact, in time independent of V. For whole decoding loops use
 * sim/decode.h, which gives the same law; this is the fast path for order-0 models. Owns its tables. */
#ifndef SPECLAB_FIXED_PAIR_H
#define SPECLAB_FIXED_PAIR_H

#include "sim/alias.h"

#include <stdbool.h>

typedef struct {
    int vocab;
    double alpha;          /* sum min(target, draft) */
    spec_alias draft;      /* also holds, beside each column, what is needed to test its tokens */
    spec_alias residual;   /* empty where alpha = 1 */
    uint64_t *accept;      /* (V) accept token x if a 64-bit word is below accept[x]; UINT64_MAX: always */
} spec_fixed_pair;

int spec_fixed_pair_init(spec_fixed_pair *pair, const double *target, const double *draft, int vocab, spec_error *error);
void spec_fixed_pair_free(spec_fixed_pair *pair);

/* n steps: opt_token (n) receives the emitted tokens; returns how many draft tokens were accepted. */
size_t spec_fixed_pair_steps(const spec_fixed_pair *pair, spec_rng_state *rng, size_t n, uint32_t *opt_token);

#endif
