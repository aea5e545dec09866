/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fixed_pair: the token rule for two fixed distributions, through alias tables, in constant time.
 * It is exact, and the time of a round does not depend on V: the fast path for order-0 models
 * (sim/sources.h). sim/decode.h gives the same output law for all models. Owns its tables. */
#ifndef SPECLAB_FIXED_PAIR_H
#define SPECLAB_FIXED_PAIR_H

#include "sim/chance/alias.h"

typedef struct {
    int vocab;
    double alpha; /* sum min(target, draft): the chance that a draft token is accepted */

    /* The draft's alias table, each column stored with its two tests. A token reads one cache line
     * unless it is rejected. token[s] is accepted if 63 random bits are below accept[s]: 2^63 means
     * always, 0 never. */
    struct spec_fixed_pair_column {
        uint64_t keep;
        uint32_t token[2];  /* below keep, and above it */
        uint64_t accept[2]; /* 2^63 min(1, target/draft), rounded */
    } *column;              /* (V) aligned to its size, 32 bytes */
    spec_alias residual;    /* norm((target - draft)+); empty (n = 0) if nothing is ever rejected */
    spec_alias target;      /* the law of the bonus token */
} spec_fixed_pair;

/* Builds the tables from weights target and draft (V), which need not be normalised. Returns
 * GSL_EDOM unless they are finite and not negative, with a positive sum. The law of an emitted
 * token differs from the normalised target by less than 2^-50 + V 2^-63 per token. */
int spec_fixed_pair_init(spec_fixed_pair *pair, const double *target, const double *draft,
                         int vocab, spec_error *error);
void spec_fixed_pair_free(spec_fixed_pair *pair);

/* Runs a whole round: K draft tokens, tested until one is rejected, and the correction or the
 * bonus. ret_token (K+1) receives the emitted tokens. Returns n_accepted, one less than their
 * number. Takes two words per test and one for the last token. */
int spec_fixed_pair_round(const spec_fixed_pair *pair, spec_rng_state *rng, int K, int *ret_token);

#endif
