/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/support.h"

#include <string.h>

/* Three positions of a text: the target's and the draft's rows, all different. Overlaps .6, .65,
 * .71. */
TEST(acceptance_has_probability_target_over_draft)
{
    OWNED(rule_case) run = rule_case_text((const int[]){2, 1, 1}, 3);
    rule_case_verify(&run, "token", (const int[]){1, 1, 1, 3}, 4);
    assert_within(run.asked[0], 0.2 / 0.3, 1e-15);
    assert_within(run.asked[1], 0.05 / 0.25, 1e-15);
    assert_within(run.asked[2], 0.36 / 0.5, 1e-15);
    assert_int_equal(run.round.n_accepted, 3);
    const int expected[] = {2, 1, 1, 3};
    for (int i = 0; i < 4; i++) assert_int_equal(run.round.token[i], expected[i]);
    for (int i = 0; i < 3; i++) assert_int_equal(run.round.node[i], i);
}

TEST(acceptance_is_certain_where_the_target_has_more)
{
    OWNED(rule_case) run = rule_case_text((const int[]){0, 2}, 2);
    rule_case_verify(&run, "token", (const int[]){1, 1, 0}, 3);
    assert_true(run.asked[0] == 1.0 && run.asked[1] == 1.0);
}

TEST(the_bonus_is_drawn_from_the_target_after_the_last_token)
{
    for (int bonus = 0; bonus < 4; bonus++) {
        OWNED(rule_case) run = rule_case_text((const int[]){0, 2, 1}, 3);
        rule_case_verify(&run, "token", (const int[]){1, 1, 1, bonus}, 4);
        assert_within(run.asked[3], rule_case_target[3][bonus], 1e-15);
        assert_int_equal(run.round.token[3], bonus);
    }
}

TEST(a_rejection_draws_from_the_residual_of_its_own_place)
{
    OWNED(rule_case) run = rule_case_text((const int[]){3, 1, 1}, 3);
    rule_case_verify(&run, "token", (const int[]){0, 1}, 2);
    assert_within(run.asked[0], 1.0 - 0.1 / 0.4, 1e-15);
    assert_within(run.asked[1], 0.1 / 0.4, 1e-15); /* (.3,.1,0,0) / .4 */
    assert_int_equal(run.round.n_accepted, 0);
    assert_int_equal(run.round.token[0], 1);

    rule_case_verify(&run, "token", (const int[]){1, 0, 3}, 3);
    assert_within(run.asked[1], 1.0 - 0.05 / 0.25, 1e-15);
    assert_within(run.asked[2], 0.1 / 0.35, 1e-15); /* (0,0,.25,.1) / .35 */
    assert_int_equal(run.round.n_accepted, 1);
    assert_int_equal(run.round.token[0], 3);
    assert_int_equal(run.round.token[1], 3);

    rule_case_verify(&run, "token", (const int[]){1, 1, 0, 0}, 4);
    assert_within(run.asked[3], 0.27 / 0.29, 1e-14); /* (.27,0,0,.02) / .29 */
    assert_int_equal(run.round.n_accepted, 2);
}

TEST(a_token_that_the_target_excludes_is_always_rejected)
{
    OWNED(rule_case) run = rule_case_text((const int[]){0, 2, 2}, 3);
    rule_case_verify(&run, "token", (const int[]){1, 1, 0, 3}, 4);
    assert_true(run.asked[2] == 1.0);
    assert_int_equal(run.round.n_accepted, 2);
}

TEST(a_chosen_token_is_accepted_with_the_targets_probability_of_it)
{
    for (int with_row = 0; with_row < 2;
         with_row++) { /* with a model's row, which is not the token's law, and without one */
        OWNED(rule_case) run;
        rule_case_init(&run, 4);
        run.target[0] = rule_case_target[0];
        run.target[1] = rule_case_target[1];
        spec_draft_append(&run.draft, 1, -1, with_row ? rule_case_draft[0] : NULL, false);
        rule_case_verify(&run, "token", (const int[]){1, 2}, 2);
        assert_within(run.asked[0], 0.3, 1e-15);
        assert_within(run.asked[1], 0.55, 1e-15);

        rule_case_verify(&run, "token", (const int[]){0, 2},
                         2); /* the rest of the target, renormalised */
        assert_within(run.asked[0], 0.7, 1e-15);
        assert_within(run.asked[1], 0.2 / 0.7, 1e-15);
        assert_int_equal(run.round.token[0], 2);
    }
}

TEST(a_residual_that_rounding_emptied_is_the_target)
{
    const double less[] = {0.25, nextafter(0.25, 0.0), 0.3, 0.2}, more[] = {0.25, 0.25, 0.3, 0.2};
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    run.target[0] = less;
    spec_draft_append(&run.draft, 1, -1, more, true);
    rule_case_verify(&run, "token", (const int[]){0, 2}, 2);
    assert_true(run.asked[0] > 0.0 && run.asked[0] < 1e-15);
    assert_within(run.asked[1], 0.3, 1e-15);
    rule_case_free(&run);

    const double one_hot[] = {0.0, nextafter(1.0, 0.0), 0.0, 0.0}; /* also if it is one-hot */
    rule_case_init(&run, 4);
    run.target[0] = one_hot;
    spec_draft_append(&run.draft, 1, -1, NULL, false);
    rule_case_verify(&run, "token", (const int[]){0, 1}, 2);
    assert_int_equal(run.round.token[0], 1);
}

TEST(a_draft_of_nothing_gives_one_token_of_the_target)
{
    OWNED(rule_case) run = rule_case_text(NULL, 0);
    rule_case_verify(&run, "token", (const int[]){2}, 1);
    assert_within(run.asked[0], 0.2, 1e-15);
    assert_int_equal(run.round.n_accepted, 0);
}

TEST(in_a_tree_the_first_child_is_followed)
{
    static const double after[][4] = {{0.1, 0.2, 0.3, 0.4},
                                      {0.25, 0.25, 0.25, 0.25},
                                      {0.6, 0.1, 0.1, 0.2},
                                      {0.3, 0.3, 0.2, 0.2}};
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    run.target[0] = rule_case_target[0];
    for (int i = 0; i < 4; i++) run.target[i + 1] = after[i];
    spec_draft_append(&run.draft, 0, -1, rule_case_draft[0], true); /* node 0 */
    spec_draft_append(&run.draft, 1, -1, rule_case_draft[0], true); /* its sibling */
    spec_draft_append(&run.draft, 2, 1, rule_case_draft[1], true);  /* the sibling's child */
    spec_draft_append(&run.draft, 3, 0, rule_case_draft[1], true);  /* node 0's child, last */
    rule_case_verify(&run, "token", (const int[]){1, 1, 1}, 3);
    assert_int_equal(run.round.n_accepted, 2);
    assert_int_equal(run.round.node[0], 0);
    assert_int_equal(run.round.node[1], 3);
    assert_true(run.asked[1] == 1.0);              /* .4 against .15 */
    assert_within(run.asked[2], 0.3, 1e-15);       /* the row after node 3 */
}

TEST(children_are_found_in_order_from_an_index_on)
{
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    const int parent[] = {-1, -1, 0, 0};
    for (int i = 0; i < 4; i++) spec_draft_append(&run.draft, i, parent[i], NULL, false);
    static const struct {
        int node, from, child;
    } cases[] = {{-1, 0, 0}, {-1, 1, 1}, {-1, 2, -1}, {0, 0, 2}, {0, 1, 2},
                 {0, 3, 3},  {0, 4, -1}, {1, 0, -1},  {3, 4, -1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        assert_int_equal(spec_verify_child(&run.draft, cases[c].node, cases[c].from),
                         cases[c].child);
}

TEST(rules_are_found_by_name_and_mistakes_by_the_nearest)
{
    const spec_rule *rule;
    for (int i = 0; spec_rules[i] != NULL; i++) {
        assert_works(spec_rule_find(&rule, spec_rules[i]->name, &error));
        assert_ptr_equal(rule, spec_rules[i]);
    }
    assert_fails_with(spec_rule_find(&rule, "tokne", &error), GSL_EINVAL, "'token'");
    assert_null(rule);
    assert_fails_with(spec_rule_find(&rule, "quite other", &error), GSL_EINVAL, "quite other");
}
