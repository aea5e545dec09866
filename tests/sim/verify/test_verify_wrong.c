/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The negative controls must be wrong in the one way that they claim, and correct in everything
 * else. */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/support.h"

static const double target[][4] = {
    {0.4, 0.3, 0.2, 0.1}, {0.15, 0.05, 0.55, 0.25}, {0.27, 0.36, 0.0, 0.37}};
static const double drafts[][4] = {{0.1, 0.2, 0.3, 0.4}, {0.3, 0.25, 0.3, 0.15}};

static rule_case chain_of(const int *token, int n, bool sampled)
{
    rule_case run;
    rule_case_init(&run, 4);
    for (int i = 0; i <= n; i++) run.target[i] = target[i];
    for (int i = 0; i < n; i++) spec_draft_append(&run.draft, token[i], i - 1, drafts[i], sampled);
    return run;
}

TEST(resample_target_draws_its_correction_from_the_whole_target)
{
    OWNED(rule_case) run = chain_of((const int[]){3, 1}, 2, true);
    rule_case_verify(&run, "resample-target", (const int[]){0, 3}, 2);
    assert_within(run.asked[0], 0.75, 1e-15);
    assert_within(run.asked[1], 0.1, 1e-15); /* the rejected token itself may return */
    assert_int_equal(run.round.token[0], 3);
    assert_int_equal(run.round.n_accepted, 0);

    rule_case_verify(&run, "resample-target", (const int[]){1, 1, 0}, 3);
    assert_within(run.asked[0], 0.25, 1e-15);
    assert_within(run.asked[1], 0.2, 1e-15);
    assert_within(run.asked[2], 0.27, 1e-15);
    assert_int_equal(run.round.n_accepted, 2);
    assert_int_equal(run.round.node[1], 1);
}

TEST(resample_target_knows_that_a_chosen_token_is_one_hot)
{
    OWNED(rule_case) run = chain_of((const int[]){3}, 1, false);
    rule_case_verify(&run, "resample-target", (const int[]){1, 2}, 2);
    assert_within(run.asked[0], 0.1, 1e-15);
}

TEST(greedy_softmax_judges_a_chosen_token_by_its_row)
{
    OWNED(rule_case) run = chain_of((const int[]){3, 0}, 2, false);
    rule_case_verify(&run, "greedy-softmax", (const int[]){1, 0, 2}, 3);
    assert_within(run.asked[0], 0.1 / 0.4, 1e-15);
    assert_within(run.asked[1], 0.5, 1e-15);
    assert_within(run.asked[2], 0.25 / 0.35, 1e-14); /* (0,0,.25,.1) / .35 */
    assert_int_equal(run.round.n_accepted, 1);
    assert_int_equal(run.round.token[1], 2);
}

TEST(greedy_softmax_without_a_row_has_only_the_one_hot_law)
{
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    run.target[0] = target[0];
    run.target[1] = target[1];
    spec_draft_append(&run.draft, 3, -1, NULL, false);
    rule_case_verify(&run, "greedy-softmax", (const int[]){0, 0}, 2);
    assert_within(run.asked[0], 0.9, 1e-15);
    assert_within(run.asked[1], 0.4 / 0.9, 1e-15);
}

TEST(all_claim_to_be_wrong)
{
    int wrong = 0;
    for (int i = 0; spec_rules[i] != NULL; i++) wrong += spec_rules[i]->claim == SPEC_WRONG;
    assert_int_equal(wrong, 3);
    const spec_rule *rule;
    assert_int_equal(spec_rule_find(&rule, "resample-target", NULL), GSL_SUCCESS);
    assert_int_equal(rule->claim, SPEC_WRONG);
    assert_int_equal(spec_rule_find(&rule, "greedy-softmax", NULL), GSL_SUCCESS);
    assert_int_equal(rule->claim, SPEC_WRONG);
    assert_int_equal(spec_rule_find(&rule, "cut-invalid", NULL), GSL_SUCCESS);
    assert_int_equal(rule->claim, SPEC_WRONG);
}
