/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bias: makes a sampler deviate by exactly a given total variation, at one place and state.
 * With it we check the TV that validation claims to detect. Tokens are split into two sets, each
 * with about half the target's mass, and mass moves from one set to the other. Among all deviations
 * with this TV between possible tokens, these are the hardest to detect. Owns its rows. */
#ifndef SPECLAB_BIAS_H
#define SPECLAB_BIAS_H

#include "sim/chance/rng.h"
#include "tools/validate/evidence/evidence.h"

typedef enum { SPEC_BIAS_FORTH, SPEC_BIAS_BACK, SPEC_BIAS_DIRECTIONS } spec_bias_direction;

/* "forth": from the set that holds the most probable token to the other set; "back": the reverse;
 * NULL. */
extern const char *const spec_bias_directions[];

typedef struct {
    spec_place place;
    int state;
    double tv;
    spec_bias_direction direction;
} spec_bias_spec;

typedef struct {
    const spec_fixture *fixture;
    spec_bias_spec spec;
    bool *source;  /* (V) tokens that lose mass */
    double *to;    /* (V) cumulative law of the replacements: the target on the other set */
    double chance; /* probability that a source token is replaced */
} spec_bias;

/* Computes the law ret (V) of the token that the token rule emits at this place after a state: the
 * target's row; for a correction, its excess over the draft's row or, for a fixed draft, the row
 * without the draft token. Returns false for a correction after siblings, which has no such law, or
 * if no correction can occur. */
bool spec_bias_law(double *ret, const spec_fixture *fixture, spec_place place, int state);

/* Returns GSL_EINVAL for a state that the fixture lacks, a place without a law, and a TV above the
 * mass of the source tokens. */
int spec_bias_init(spec_bias *bias, const spec_fixture *fixture, const spec_bias_spec *spec,
                   spec_error *error);
void spec_bias_free(spec_bias *bias);

/* Biases round i of an answered batch. A round ends after a replaced token. */
void spec_bias_round(const spec_bias *bias, spec_round_batch *batch, int i);

/* Writes a text with the target's law and this bias, from state `start` on. */
void spec_bias_text(const spec_bias *bias, int start, uint64_t seed, int32_t *ret_token,
                    int64_t n_tokens);

#endif
