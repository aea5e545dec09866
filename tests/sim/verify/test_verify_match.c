/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/support.h"

static const double target[][4] = {
    {0.4, 0.3, 0.2, 0.1}, {0.15, 0.05, 0.55, 0.25}, {0.27, 0.36, 0.0, 0.37}};
static const double row[4] = {0.1, 0.2, 0.3, 0.4};

static rule_case chain_of(const int *token, int n, bool sampled)
{
    rule_case run;
    rule_case_init(&run, 4);
    for (int i = 0; i <= n; i++) run.target[i] = target[i];
    for (int i = 0; i < n; i++)
        spec_draft_append(&run.draft, token[i], i - 1, sampled ? row : NULL, sampled);
    return run;
}

TEST(every_token_is_drawn_from_the_target)
{
    for (int sampled = 0; sampled < 2;
         sampled++) { /* the rule ignores how the draft was made */
        OWNED(rule_case) run = chain_of((const int[]){2, 0}, 2, sampled);
        rule_case_verify(&run, "match", (const int[]){2, 0, 3}, 3);
        assert_within(run.asked[0], 0.2, 1e-15);
        assert_within(run.asked[1], 0.15, 1e-15);
        assert_within(run.asked[2], 0.37, 1e-15);
        assert_int_equal(run.round.n_accepted, 2);
        const int expected[] = {2, 0, 3};
        for (int i = 0; i < 3; i++) assert_int_equal(run.round.token[i], expected[i]);
        assert_int_equal(run.round.node[0], 0);
        assert_int_equal(run.round.node[1], 1);
    }
}

TEST(the_first_difference_is_emitted_and_ends_the_round)
{
    OWNED(rule_case) run = chain_of((const int[]){2, 0}, 2, true);
    rule_case_verify(&run, "match", (const int[]){1}, 1);
    assert_int_equal(run.round.n_accepted, 0);
    assert_int_equal(run.round.token[0], 1);

    rule_case_verify(&run, "match", (const int[]){2, 3}, 2);
    assert_int_equal(run.round.n_accepted, 1);
    assert_int_equal(run.round.token[1], 3);
}

TEST(a_draft_of_nothing_gives_one_token_of_the_target)
{
    OWNED(rule_case) run = chain_of(NULL, 0, true);
    rule_case_verify(&run, "match", (const int[]){3}, 1);
    assert_within(run.asked[0], 0.1, 1e-15);
}

TEST(in_a_tree_the_child_with_the_token_is_followed)
{
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    run.target[0] = target[0];
    run.target[1] = target[1];
    run.target[2] = row;
    run.target[3] = target[2];
    spec_draft_append(&run.draft, 0, -1, row, true);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 2, 0, row, true);
    rule_case_verify(&run, "match", (const int[]){0, 2, 1}, 3);
    assert_int_equal(run.round.node[1], 2);
    assert_within(run.asked[2], 0.36, 1e-15);

    rule_case_verify(&run, "match", (const int[]){1, 2},
                     2); /* the second child, which has no children */
    assert_int_equal(run.round.n_accepted, 1);
    assert_int_equal(run.round.node[0], 1);
    assert_within(run.asked[1], 0.3, 1e-15);

    /* a child of another node does not count */
    rule_case_verify(&run, "match", (const int[]){2}, 1);
    assert_int_equal(run.round.n_accepted, 0);
}
