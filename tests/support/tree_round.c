/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/tree_round.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

spec_decoder_config tree_round_config(const spec_model *target, const spec_model *draft,
                                      const char *rule, const char *drafting, int K)
{
    return (spec_decoder_config){.target = target,
                                 .opt_draft = draft,
                                 .drafting = drafting,
                                 .policy = "fixed",
                                 .rule = rule,
                                 .K = K,
                                 .costs = SPEC_COSTS_DEFAULT};
}

void tree_round_enumerate(tree_round *ret, const spec_decoder_config *config)
{
    OWNED(spec_decoder) decoder;
    OWNED(spec_enumeration) walk;
    *ret = (tree_round){.branches = 0};
    assert_works(spec_decoder_init(&decoder, config, &error));
    assert_int_equal(spec_enumeration_init(&walk, TREE_ROUND_LIMIT), GSL_SUCCESS);
    do {
        assert_works(spec_decoder_reset(&decoder, NULL, 0, &error));
        assert_works(spec_decoder_round(&decoder, &walk.chance, NULL, &error));
        const double probability = spec_enumeration_probability(&walk);
        const int n = decoder.round.n_emitted;
        int text = 0;
        for (int i = 0; i < n; i++) text = text * config->target->vocab + decoder.round.token[i];
        assert_true(n <= TREE_ROUND_LENGTH && text < TREE_ROUND_TEXTS);
        ret->prefix[n][text] += probability;
        ret->accepted += probability * decoder.round.n_accepted;
    } while (spec_enumeration_next(&walk));
    assert_false(walk.refused);
    ret->branches = walk.branches;
}

double tree_round_tv(const tree_round *law, const table_model *target, int length)
{
    const int V = target->head.vocab;
    int texts = 1;
    for (int i = 0; i < length; i++) texts *= V;
    assert_true(length <= TREE_ROUND_LENGTH && texts <= TREE_ROUND_TEXTS);
    double distance = 0.0;
    for (int text = 0; text < texts; text++) {
        int token[TREE_ROUND_LENGTH];
        for (int i = length - 1, rest = text; i >= 0; i--, rest /= V) token[i] = rest % V;
        double emitted = 0.0, tail = 1.0; /* tail: the mass of the tokens from n on */
        for (int n = length, prefix = text; n > 0; n--, prefix /= V) {
            emitted += law->prefix[n][prefix] * tail;
            tail *= table_model_row(target, token, (size_t)n - 1)[token[n - 1]];
        }
        distance += fabs(emitted - tail);
    }
    return 0.5 * distance;
}
