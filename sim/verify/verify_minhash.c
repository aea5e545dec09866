/* SPDX-License-Identifier: GPL-3.0-or-later */
/* minhash: draft and target coupled by weighted MinHash [Daliri24]. Each takes the token of the
 * first common dart, uniform on tokens and [0,1], that falls below its row;
 * docs/formulas/acceptance.md#coupling. Accepting takes one pass over the two rows, a correction
 * two. With a seed, the rule throws the darts itself. */
#include "sim/verify/verify.h"

#include <assert.h>
#include <math.h>

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    return spec_verify_share(rule, SPEC_NOISE_DARTS, settings, error);
}

/* A dart below either row is below both, only the draft's, or only the target's; in the latter
 * cases the other model takes an independent token. */
static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    (void)rule;
    const int child = spec_verify_child(draft, node, node + 1), vocab = draft->vocab;
    const double *law = child >= 0 ? spec_draft_law(draft, child) : NULL;
    if (law == NULL)
        return spec_verify_sample(target, vocab,
                                  /* a chosen token carries no information about the darts */
                                  chance);
    const int token = draft->token[child];
    const double drafted = law[token], wanted = target[token];
    assert(drafted > 0.0); /* else it was not drawn from that law */
    const double both = fmin(drafted, wanted), too_much = drafted - both,
                 too_little = wanted - both;

    double either = 0.0;
    for (int i = 0; i < vocab; i++) either += target[i] > law[i] ? target[i] : law[i];
    if (spec_chance_accept(chance, both + too_much * wanted + too_little * drafted,
                           drafted * either))
        return token;

    double mass = 0.0;
    for (int i = 0; i < vocab; i++) {
        const double missing = target[i] > law[i] ? target[i] - law[i] : 0.0;
        weight[i] = i == token ? 0.0 : too_much * target[i] + drafted * missing;
        mass += weight[i];
    }
    return spec_verify_sample(mass > 0.0 ? weight : target, vocab, chance);
}

const spec_rule spec_verify_minhash = {
    .name = "minhash",
    .usage = "minhash?seed=none",
    .summary = "coupling by shared darts; with a seed, shared with the draft minhash, the text "
               "depends on the seed alone",
    .reference = "Daliri24",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_CHILDREN,
    .init = init,
    .verify = spec_verify_walk,
    .decide = decide,
};
