/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <string.h>

/* A script forces two rounds of the token rule with K = 3: three accepted, then one. */
TEST(a_tally_counts_what_was_tested_and_passed)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    table_model_fill(&s.target, (const double[]){0.5, 0.3, 0.2});
    table_model_fill(&s.draft, (const double[]){0.2, 0.5, 0.3});
    s.config.K = 3;
    s.config.costs = (spec_costs){.draft = 0.07, .verify = 1.3, .fixed = 0.011};
    OWNED(spec_decoder) decoder;
    stage_open_decoder(&decoder, &s.config);
    const int answer[] = {0, 1, 0, 1, 1, 1, 2, /* drafts 0 1 0, accepts all, bonus 2 */
                          0, 1, 2, 1, 0, 0}; /* drafts 0 1 2, accepts one, rejects, correction 0 */
    spec_script script;
    spec_script_init(&script, answer, 13, NULL);
    spec_tally tally = {0};
    assert_int_equal(spec_decoder_round(&decoder, &script.chance, &tally, NULL), GSL_SUCCESS);
    assert_int_equal(decoder.round.n_accepted, 3);
    assert_true(tally.tested[2] == 1 && tally.passed[2] == 1 && tally.tested[3] == 0);
    assert_int_equal(spec_decoder_round(&decoder, &script.chance, &tally, NULL), GSL_SUCCESS);
    assert_false(script.broken);
    assert_int_equal(script.used, 13);
    const int text[] = {0, 1, 0, 2, 0, 0};
    assert_int_equal(decoder.n_context, 6);
    assert_memory_equal(decoder.context, text, sizeof text);
    assert_true(tally.rounds == 2 && tally.drafted == 6 && tally.accepted == 4 &&
                tally.emitted == 6);
    assert_true(tally.n_accepted[0] == 0 && tally.n_accepted[1] == 1 && tally.n_accepted[2] == 0 &&
                tally.n_accepted[3] == 1);
    const uint64_t tested[] = {2, 2, 1, 0}, passed[] = {2, 1, 1, 0};
    for (int i = 0; i < 4; i++)
        assert_true(tally.tested[i] == tested[i] && tally.passed[i] == passed[i]);
    assert_within(tally.time, 2 * (3 * 0.07 + 1.3 + 0.011), 1e-15);
}

TEST(tallies_are_consistent_with_themselves)
{
    OWNED(stage) s;
    stage_init(&s, 4, PAIR_LEVELS, 42);
    for (int c = 0; c < 3 * 3 * 6; c++) {
        s.config.rule = stage_rules[c % 3];
        s.config.drafting = stage_draftings[c / 3 % 3];
        s.config.policy = stage_policies[c / 9];
        OWNED(spec_decoder) decoder;
        stage_open_decoder(&decoder, &s.config);
        spec_tally tally = {0};
        double calls = 0.0;
        for (int i = 0; i < 200; i++) {
            assert_int_equal(spec_decoder_round(&decoder, &s.chance, &tally, NULL), GSL_SUCCESS);
            const bool stopped =
                strcmp(s.config.policy, "peak") == 0 && decoder.round.n_drafted < s.config.K;
            calls += decoder.round.n_drafted +
                     stopped; /* reading a row costs a call even if nothing is drawn from it */
        }
        uint64_t rounds = 0, accepted = 0, passed = 0;
        for (uint64_t k = 0; k <= SPEC_K_MAX; k++) {
            rounds += tally.n_accepted[k];
            accepted += k * tally.n_accepted[k];
        }
        for (int i = 0; i < SPEC_K_MAX; i++) {
            passed += tally.passed[i];
            assert_true(tally.passed[i] <= tally.tested[i]);
            if (i > 0) assert_true(tally.tested[i] <= tally.passed[i - 1]);
        }
        assert_true(rounds == 200 && tally.rounds == 200);
        assert_true(accepted == tally.accepted && passed == tally.accepted);
        assert_true(tally.emitted == tally.accepted + 200 && decoder.n_context == tally.emitted);
        if (strcmp(s.config.policy, "oracle") == 0) calls = (double)tally.accepted;
        if (strcmp(s.config.drafting, "lookup") == 0) calls = 0.0; /* no model, no calls */
        assert_within(tally.time, 200.0 + 0.1 * calls, 1e-9);
    }
}

TEST(without_drafts_each_round_is_one_token_of_the_target)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    s.config.K = 0;
    for (int r = 0; r < 3; r++) {
        s.config.rule = stage_rules[r];
        OWNED(spec_decoder) decoder;
        stage_open_decoder(&decoder, &s.config);
        spec_tally tally = {0};
        for (int i = 0; i < 10; i++)
            assert_int_equal(spec_decoder_round(&decoder, &s.chance, &tally, NULL), GSL_SUCCESS);
        assert_true(tally.emitted == 10 && tally.drafted == 0 && tally.accepted == 0 &&
                    tally.tested[0] == 0);
        assert_within(tally.time, 10.0, 0.0);
    }
}
