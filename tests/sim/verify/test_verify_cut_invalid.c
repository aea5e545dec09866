/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"

/* The third token has probability 0, so the token at its position is drawn from (.27, .36, 0, .37),
 * not from the residual (.27, 0, 0, .02). */
TEST(the_place_of_an_impossible_token_is_drawn_from_the_target)
{
    OWNED(rule_case) run = rule_case_text((const int[]){0, 2, 2}, 3);
    rule_case_verify(&run, "cut-invalid", (const int[]){1, 1, 1}, 3);
    assert_within(run.asked[2], 0.36, 1e-15);
    assert_int_equal(run.round.n_accepted, 2);
    rule_case_verify(&run, "cut-invalid?rule=block", (const int[]){1, 1}, 2);
    assert_within(run.asked[0], 1.0, 0.0);
    assert_within(run.asked[1], 0.36, 1e-15);
    assert_int_equal(run.round.n_accepted, 2);
    rule_case_free(&run);

    /* The tokens before the cut are judged as usual. */
    run = rule_case_text((const int[]){3, 2, 2}, 3);
    rule_case_verify(&run, "cut-invalid", (const int[]){0, 1}, 2);
    assert_within(run.asked[0], 0.75, 1e-15);
    assert_within(run.asked[1], 0.1 / 0.4, 1e-14);
    rule_case_free(&run);

    run = rule_case_text((const int[]){3, 2, 1}, 3); /* no token is impossible */
    rule_case_verify(&run, "cut-invalid", (const int[]){1, 1, 1, 0}, 4);
    assert_within(run.asked[2], 0.36 / 0.5, 1e-15);
    assert_int_equal(run.round.n_accepted, 3);
}

/* The engine's own kernel gave .73 in 400 rounds; .5 .5 0 and .45 .05 .5 give .7 exactly. */
TEST(the_worked_example_has_its_law)
{
    OWNED(table_model) goal, draft;
    rule_law_pair(&goal, &draft, (const double[]){0.5, 0.5, 0.0}, (const double[]){0.45, 0.05, 0.5},
                  3);
    static const char *const rules[] = {"cut-invalid", "cut-invalid?rule=block"};
    for (int i = 0; i < 2; i++) {
        spec_output_law law = rule_law(&goal, &draft, rules[i], "chain", 1, 1),
                        chosen = rule_law(&goal, &draft, rules[i], "greedy", 2, 2);
        assert_within(law.law[0], 0.5 + 0.5 * (0.5 - 0.1), 1e-15);
        assert_within(law.tv, 0.2, 1e-15);
        assert_within(chosen.tv, 0.0, 1e-15); /* only token 2 is drafted, and always cut */
        spec_output_law_free(&law);
        spec_output_law_free(&chosen);
    }
}

/* A chosen draft has no residual other than the target, so the cut is right there, for both
 * rules. */
TEST(one_hot_drafts_are_unharmed)
{
    uint64_t noise = spec_test_seed();
    double sampled = 0.0;
    for (int c = 0; c < 20 * PAIR_FAMILIES; c++) {
        OWNED(table_model) goal, draft;
        const int V = 1 + (int)(4.0 * table_uniform(&noise));
        const char *rule = c / PAIR_FAMILIES % 2 == 0 ? "cut-invalid" : "cut-invalid?rule=block";
        table_model_init(&goal, V);
        table_model_init(&draft, V);
        table_pair_randomize(&goal, &draft, (pair_family)(c % PAIR_FAMILIES), &noise);
        spec_output_law chosen = rule_law(&goal, &draft, rule, "greedy", 3, 3),
                        drawn = rule_law(&goal, &draft, rule, "chain", 2, 2);
        assert_within(chosen.tv, 0.0, 1e-12);
        sampled = fmax(sampled, drawn.tv);
        spec_output_law_free(&chosen);
        spec_output_law_free(&drawn);
    }
    assert_true(sampled > 0.05);
}
