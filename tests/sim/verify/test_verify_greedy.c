/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/rule_case.h"
#include "tests/support/support.h"

/* The argmaxes are 1, 0, 3; the second is a tie. */
static const double target[][4] = {
    {0.2, 0.5, 0.2, 0.1}, {0.4, 0.1, 0.4, 0.1}, {0.27, 0.36, 0.0, 0.37}};
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

TEST(the_argmax_text_comes_out_without_a_decision)
{
    const int text[] = {1, 0, 3};
    const struct {
        int token[2], accepted;
    } cases[] = {{{1, 0}, 2}, {{1, 2}, 1}, {{1, 3}, 1}, {{2, 0}, 0}, {{0, 0}, 0}, {{3, 2}, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int sampled = 0; sampled < 2; sampled++) {
            OWNED(rule_case) run = chain_of(cases[c].token, 2, sampled);
            rule_case_verify(&run, "greedy", NULL, 0);
            assert_int_equal(run.round.n_accepted, cases[c].accepted);
            for (int i = 0; i <= cases[c].accepted; i++)
                assert_int_equal(run.round.token[i], text[i]);
            for (int i = 0; i < cases[c].accepted; i++) assert_int_equal(run.round.node[i], i);
        }
}

TEST(a_draft_of_nothing_gives_the_argmax)
{
    OWNED(rule_case) run = chain_of(NULL, 0, true);
    rule_case_verify(&run, "greedy", NULL, 0);
    assert_int_equal(run.round.n_accepted, 0);
    assert_int_equal(run.round.token[0], 1);
}

TEST(in_a_tree_the_child_with_the_argmax_is_followed)
{
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    run.target[0] = target[0];
    run.target[1] = row;
    run.target[2] = target[1];
    run.target[3] = row;
    run.target[4] = target[2];
    spec_draft_append(&run.draft, 0, -1, row, true);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 1, -1, row,
                      true); /* the same token again; the first child with it counts */
    spec_draft_append(&run.draft, 0, 1, row, true);
    rule_case_verify(&run, "greedy", NULL, 0);
    assert_int_equal(run.round.n_accepted, 2);
    assert_int_equal(run.round.node[0], 1);
    assert_int_equal(run.round.node[1], 3);
    assert_int_equal(run.round.token[2], 3);
}
