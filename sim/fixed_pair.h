/* fixed_pair: the token rule for one target and one draft distribution that never change, through alias tables.
 * One step drafts a token, tests it and corrects it where it is rejected: exact, in time independent of V. The fast
 * path for order-0 models (sim/sources.h); sim/decode.h gives the same law for all. Owns its tables. */
#ifndef SPECLAB_FIXED_PAIR_H
#define SPECLAB_FIXED_PAIR_H

#include "sim/chance/alias.h"

typedef struct {
    int vocab;
    double alpha; /* sum min(target, draft): the chance that a draft token is accepted */

    /* The draft's alias table with the two tests beside each column, so that a step reads one cache line unless it
     * rejects. Token token[s] is accepted if 63 random bits are below accept[s]: 2^63 is always, 0 never, without a
     * special case. */
    struct spec_fixed_pair_column {
        uint64_t keep;
        uint32_t token[2];  /* below keep, above */
        uint64_t accept[2]; /* 2^63 min(1, target/draft), rounded */
    } *column;              /* (V) aligned to 32 bytes, its size */
    spec_alias residual;    /* of norm((target - draft)+); empty (n = 0) where nothing is ever rejected */
    spec_alias target;      /* for the bonus of a whole round */
} spec_fixed_pair;

/* target, draft (V): weights, each finite, not negative and of positive sum, else GSL_EDOM; both are normalised here.
 * The law of an emitted token differs from the normalised target by less than 2^-50 + V 2^-63 a token. */
int spec_fixed_pair_init(spec_fixed_pair *pair, const double *target, const double *draft, int vocab,
                         spec_error *error);
void spec_fixed_pair_free(spec_fixed_pair *pair);

/* n steps: opt_token (n) receives the emitted tokens, draft or correction; returns how many draft tokens were accepted.
 * A step takes three words whatever happens, so that the steps of one call and of several are the same. */
size_t spec_fixed_pair_steps(const spec_fixed_pair *pair, spec_rng_state *rng, size_t n, uint32_t *opt_token);

/* A whole round: K draft tokens, tested until one is rejected, and the correction or the bonus. ret_token (K+1)
 * receives the emitted tokens; returns n_accepted, one less than these are. Two words a test, and one for the last
 * token. */
int spec_fixed_pair_round(const spec_fixed_pair *pair, spec_rng_state *rng, int K, int *ret_token);

#endif
