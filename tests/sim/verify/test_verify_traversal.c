/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks traversal verification decision by decision: by script, and against block on chains.
 * test_verify_traversal_law.c tests its law and its acceptance. */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

/* ---- scripted -------------------------------------------------------------------------------- */

static const double even[] = {0.25, 0.25, 0.25, 0.25};

static rule_case tree_of(spec_siblings siblings, const double *target)
{
    rule_case run;
    rule_case_init(&run, 4);
    run.draft.siblings = siblings;
    for (int i = 0; i <= RULE_CASE_NODES; i++) run.target[i] = target;
    return run;
}

/* Forces the answers, and compares their probabilities. */
static void check_asked(rule_case *run, const int *answer, const double *asked, int n)
{
    rule_case_verify(run, "traversal", answer, n);
    for (int i = 0; i < n; i++) assert_within(run->asked[i], asked[i], 1e-14);
}

static void check_path(const rule_case *run, const int *node, int n)
{
    assert_int_equal(run->round.n_accepted, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(run->round.node[i], node[i]);
        assert_int_equal(run->round.token[i], run->draft.token[node[i]]);
    }
}

/* [Weng25] section 3: target (.3, .4, .3), draft (.6, .3, .1) everywhere, X1 = a with b and c below
 * it, X2 = b. The first leaf is reached with 2/3. If it is rejected, X1 is left with 1/11, and the
 * second leaf is reached with 7/11. */
TEST(the_papers_tree_is_judged_from_the_leaves_to_the_root)
{
    static const double target[] = {0.3, 0.4, 0.3, 0.0}, row[] = {0.6, 0.3, 0.1, 0.0};
    OWNED(rule_case) run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 0, -1, row, true); /* X1 */
    spec_draft_append(&run.draft, 1, -1, row, true); /* X2 */
    spec_draft_append(&run.draft, 1, 0, row, true);  /* X3 */
    check_asked(&run, (const int[]){0, 1, 2}, (const double[]){1.0 / 3.0, 1.0 / 11.0, 1.0}, 3);
    check_path(&run, (const int[]){0}, 1);
    assert_int_equal(run.round.token[1], 2);

    spec_draft_append(&run.draft, 2, 0, row, true); /* X4 */
    spec_draft_append(&run.draft, 0, 1, row, true); /* X5 */
    check_asked(&run, (const int[]){1, 1}, (const double[]){2.0 / 3.0, 0.4}, 2);
    check_path(&run, (const int[]){0, 2}, 2);
    check_asked(&run, (const int[]){0, 1, 0}, (const double[]){1.0 / 3.0, 7.0 / 11.0, 0.3}, 3);
    check_path(&run, (const int[]){0, 3}, 2);

    /* X4 takes the whole residual of X1. X2 is then reached with 4/9: its leaf is kept with half of
     * that, and X2 itself with r / (r + 5/9), where r = 4/9 .3 - .1. At the root, c = 1 + .3/.4
     * leaves c alone. */
    const double left = 4.0 / 9.0 * 0.3 - 0.1, keep = left / (left + 5.0 / 9.0);
    check_asked(&run, (const int[]){0, 0, 0, 1, 1},
                (const double[]){1.0 / 3.0, 4.0 / 11.0, 1.0, 2.0 / 9.0, 0.4}, 5);
    check_path(&run, (const int[]){1, 4}, 2);
    check_asked(&run, (const int[]){0, 0, 0, 0, 1, 2},
                (const double[]){1.0 / 3.0, 4.0 / 11.0, 1.0, 7.0 / 9.0, keep, 1.0}, 6);
    check_path(&run, (const int[]){1}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 0, 0, 1, 2},
                (const double[]){1.0 / 3.0, 4.0 / 11.0, 1.0, 7.0 / 9.0, 1.0 - keep, 1.0, 1.0}, 7);
    check_path(&run, NULL, 0);
}

/* The second 1 finds a residual of 0: the rule asks neither for it nor for nodes below it, but
 * subtracts its part of the rest. */
TEST(a_twin_of_an_iid_sibling_is_passed_over)
{
    static const double target[] = {0.4, 0.3, 0.2, 0.1}, row[] = {0.1, 0.6, 0.1, 0.2};
    OWNED(rule_case) run = tree_of(SPEC_SIBLINGS_IID, target);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 0, 1, row, true);
    spec_draft_append(&run.draft, 0, 0, even, true);
    check_asked(&run, (const int[]){1, 1}, (const double[]){0.8, 0.3}, 2); /* .5 times .4 / .25 */
    check_path(&run, (const int[]){0, 3}, 2);

    /* (.5 target - even)+ is empty; then (target - 1.4 row)+ = (.26, 0, .06, 0). */
    check_asked(&run, (const int[]){0, 0, 1, 0}, (const double[]){0.2, 1.0, 1.0, 0.26 / 0.32}, 4);
    check_path(&run, NULL, 0);
}

TEST(the_drawn_one_of_greedy_siblings_is_judged_first)
{
    static const double target[] = {0.1, 0.2, 0.3, 0.4}, row[] = {0.4, 0.3, 0.2, 0.1};
    OWNED(rule_case) run = tree_of(SPEC_SIBLINGS_GREEDY, target);
    spec_draft_append(&run.draft, 0, -1, row, false);
    spec_draft_append(&run.draft, 1, -1, row, false);
    spec_draft_append(&run.draft, 2, -1, row, true);
    /* The drawn one: .3 / (.2/.3). It leaves the chosen ones their share, and the last token .4 -
     * .1/.3. */
    check_asked(&run, (const int[]){1, 0}, (const double[]){0.45, 0.1}, 2);
    check_path(&run, (const int[]){2}, 1);
    check_asked(&run, (const int[]){0, 1, 0}, (const double[]){0.55, 3.0 / 11.0, 0.1}, 3);
    check_path(&run, (const int[]){0}, 1);
    check_asked(&run, (const int[]){0, 0, 1, 0}, (const double[]){0.55, 8.0 / 11.0, 0.75, 0.1}, 4);
    check_path(&run, (const int[]){1}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 1, 3},
                (const double[]){0.55, 8.0 / 11.0, 0.25, 1.0, 1.0}, 5);
}

TEST(where_the_chosen_ones_are_all_of_the_row_the_drawn_one_is_even)
{
    static const double target[] = {0.1, 0.2, 0.05, 0.65}, row[] = {0.7, 0.3, 0.0, 0.0};
    OWNED(rule_case) run = tree_of(SPEC_SIBLINGS_GREEDY, target);
    spec_draft_append(&run.draft, 0, -1, row, false);
    spec_draft_append(&run.draft, 1, -1, row, false);
    spec_draft_append(&run.draft, 2, -1, row, true);
    /* .05 / (1/2); then the last has the residual .65 - .5. */
    check_asked(&run, (const int[]){0, 1, 1}, (const double[]){0.9, 0.1 / 0.45, 0.2}, 3);
    check_path(&run, (const int[]){0}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 1, 3},
                (const double[]){0.9, 0.35 / 0.45, 0.15 / 0.35, 1.0, 1.0}, 5);
}

TEST(a_row_without_replacement_that_is_used_up_goes_on_evenly)
{
    static const double target[] = {0.1, 0.45, 0.1, 0.35}, row[] = {1.0, 0.0, 0.0, 0.0};
    OWNED(rule_case) run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 0, -1, row, true);
    spec_draft_append(&run.draft, 2, -1, row, true);
    spec_draft_append(&run.draft, 3, -1, row, true);
    /* .1; then .1 of .9, of three: 1/3; then .35 - .3 of .2, of two: 1/2; then .45 - .4 of token 1.
     */
    check_asked(&run, (const int[]){0, 1, 1}, (const double[]){0.9, 1.0 / 3.0, 0.45}, 3);
    check_path(&run, (const int[]){1}, 1);
    check_asked(&run, (const int[]){0, 0, 1, 1}, (const double[]){0.9, 2.0 / 3.0, 0.5, 0.45}, 4);
    check_path(&run, (const int[]){2}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 1, 1}, (const double[]){0.9, 2.0 / 3.0, 0.5, 1.0, 1.0},
                5);
}

/* Three siblings, so the rest of the row includes the younger ones too. */
TEST(without_replacement_each_is_judged_by_what_its_elders_left_of_the_row)
{
    static const double target[] = {0.1, 0.1, 0.35, 0.45}, row[] = {0.4, 0.3, 0.2, 0.1};
    OWNED(rule_case) run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 0, -1, row, true);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 2, -1, row, true);
    /* .25; (0, 0, .15, .35), .5; token 1 has residual 0. c = 1 + .5/.6: (.35 - .3667) is negative,
     * .45 - .18333. */
    check_asked(&run, (const int[]){0, 1, 3}, (const double[]){0.75, 1.0, 1.0}, 3);
    rule_case_free(&run);

    run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 2, -1, row, true);
    spec_draft_append(&run.draft, 3, -1, row, true);
    /* 1/3; (0, 0, .15, .35), .5, over .7: token 2 with .15 .7 / (.5 .2). */
    check_asked(&run, (const int[]){0, 1, 2}, (const double[]){2.0 / 3.0, 1.0, 0.35}, 3);
    check_path(&run, (const int[]){1}, 1);
    rule_case_free(&run);

    run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 0, -1, row, true); /* the residual is 0 */
    spec_draft_append(&run.draft, 2, -1, row, true);
    /* c = 1 + .5/.7: (.35 - .342857, .45 - .171429); of the residual, .3, token 2 has 2/3. */
    const double c = 1.0 + 0.5 / 0.7, second = 0.35 - 0.2 * c, third = 0.45 - 0.1 * c;
    check_asked(&run, (const int[]){0, 1, 2},
                (const double[]){2.0 / 3.0, second * 1.5 / (second + third), 0.35}, 3);
    check_path(&run, (const int[]){2}, 1);
}

/* In either order, the hub is judged last: it is the argmax, and of equal ones the first. */
TEST(hub_pairs_are_judged_as_greedy_ones)
{
    static const double target[] = {0.2, 0.3, 0.15, 0.35}, row[] = {0.5, 0.1, 0.3, 0.1},
                        tied[] = {0.3, 0.3, 0.2, 0.2};
    for (int order = 0; order < 2; order++) {
        OWNED(rule_case) run = tree_of(SPEC_SIBLINGS_HUB, target);
        spec_draft_append(&run.draft, order == 0 ? 2 : 0, -1, row, true);
        spec_draft_append(&run.draft, order == 0 ? 0 : 2, -1, row, true);
        /* .15 .5/.3; then .2 of .2 + (.3 - .2) + (.35 - .2). */
        check_asked(&run, (const int[]){1, 0}, (const double[]){0.25, 0.2}, 2);
        check_path(&run, &order, 1);
        check_asked(&run, (const int[]){0, 1, 0}, (const double[]){0.75, 0.2 / 0.45, 0.2}, 3);
        check_path(&run, (const int[]){1 - order}, 1);
        check_asked(&run, (const int[]){0, 0, 1, 1}, (const double[]){0.75, 0.25 / 0.45, 1.0, 0.4},
                    4);
        rule_case_free(&run);

        run = tree_of(SPEC_SIBLINGS_HUB, target);
        spec_draft_append(&run.draft, order == 0 ? 1 : 0, -1, tied, true);
        spec_draft_append(&run.draft, order == 0 ? 0 : 1, -1, tied, true);
        check_asked(&run, (const int[]){1, 0}, (const double[]){0.7, 0.2},
                    2); /* token 1: .3 .7/.3 */
        check_path(&run, &order, 1);
    }
}

/* Only the target matters, and the row may be missing. After the end of a text there are no
 * nodes. */
TEST(chosen_siblings_take_their_tokens_whole)
{
    static const double target[] = {0.2, 0.3, 0.1, 0.4}, after[] = {0.5, 0.1, 0.15, 0.25};
    OWNED(rule_case) run = tree_of(SPEC_SIBLINGS_TOP, target);
    run.target[1] = after;
    spec_draft_append(&run.draft, 1, -1, NULL, false);
    spec_draft_append(&run.draft, 0, -1, NULL, false);
    spec_draft_append(&run.draft, 2, 0, NULL, false);
    spec_draft_append(&run.draft, 3, 0, NULL, false);
    /* Leaves .3 .15, then .3 .25 of the residual of .3 and .7, then node 0 itself. */
    const double leaf = 0.3 * 0.15, second = 0.3 * 0.25, left = 0.3 * 0.6;
    check_asked(&run, (const int[]){1, 3}, (const double[]){leaf, 0.4}, 2);
    check_path(&run, (const int[]){0, 2}, 2);
    check_asked(&run, (const int[]){0, 1, 2},
                (const double[]){1.0 - leaf, second / (1.0 - leaf), 0.1}, 3);
    check_path(&run, (const int[]){0, 3}, 2);
    check_asked(
        &run, (const int[]){0, 0, 1, 0},
        (const double[]){1.0 - leaf, (left + 0.7) / (1.0 - leaf), left / (left + 0.7), 0.5 / 0.6},
        4);
    check_path(&run, (const int[]){0}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 1, 3},
                (const double[]){1.0 - leaf, (left + 0.7) / (1.0 - leaf), 0.7 / (left + 0.7),
                                 0.2 / 0.7, 0.4},
                5);
    check_path(&run, (const int[]){1}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 0, 1, 3},
                (const double[]){1.0 - leaf, (left + 0.7) / (1.0 - leaf), 0.7 / (left + 0.7),
                                 0.5 / 0.7, 1.0, 0.8},
                6);
}

TEST(an_empty_draft_gives_one_token_of_the_target)
{
    OWNED(rule_case) run = tree_of(SPEC_SIBLINGS_IID, even);
    check_asked(&run, (const int[]){1, 2}, (const double[]){1.0, 0.25}, 2);
    check_path(&run, NULL, 0);
}

/* If the rest is nearly 0, `taken` is infinite, but not for tokens that the row excludes. */
TEST(a_faint_rest_takes_nothing_from_tokens_outside_of_the_row)
{
    static const double target[] = {0.1, 0.1, 0.5, 0.3}, row[] = {1.0, 1e-310, 0.0, 0.0};
    OWNED(rule_case) run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 0, -1, row, true);
    spec_draft_append(&run.draft, 1, -1, row, true);
    check_asked(&run, (const int[]){0, 0, 1, 2}, (const double[]){0.9, 8.0 / 9.0, 1.0, 0.625}, 4);
}

/* If the rows are equal up to rounding, a child may be rejected with a residual of 0. */
TEST(what_rounding_emptied_is_the_target)
{
    static const double less[] = {0.25, 0.25 - 0x1p-54, 0.25, 0.25};
    OWNED(rule_case) run = tree_of(SPEC_SIBLINGS_IID, less);
    run.target[1] = even;
    spec_draft_append(&run.draft, 1, -1, even, true);
    spec_draft_append(&run.draft, 1, -1, even, true);
    rule_case_verify(&run, "traversal", (const int[]){0, 1, 2}, 3);
    assert_true(run.asked[0] < 1e-15);
    assert_within(run.asked[2], 0.25, 1e-15);
    check_path(&run, NULL, 0);
}

/* A draft with as many nodes as possible, and one with the longest path. */
TEST(the_largest_drafts_are_judged)
{
    static double one_hot[SPEC_NODES_MAX], uniform[SPEC_NODES_MAX], weight[SPEC_NODES_MAX];
    static const double *target[SPEC_NODES_MAX + 1];
    static int answer[SPEC_NODES_MAX + 1], token[SPEC_K_MAX + 1], node[SPEC_K_MAX];
    OWNED(spec_draft) draft;
    spec_script script;
    spec_round round = {.token = token, .node = node};
    one_hot[7] = 1.0;
    for (int i = 0; i < SPEC_NODES_MAX; i++) uniform[i] = 1.0 / SPEC_NODES_MAX;
    assert_int_equal(spec_draft_init(&draft, SPEC_NODES_MAX, SPEC_NODES_MAX, NULL), GSL_SUCCESS);

    /* First only the last of all tokens is kept, then the one before it. */
    draft.siblings = SPEC_SIBLINGS_TOP;
    for (int i = 0; i < SPEC_NODES_MAX; i++) spec_draft_append(&draft, i, -1, NULL, false);
    for (int i = 0; i <= SPEC_NODES_MAX; i++) target[i] = uniform;
    answer[SPEC_NODES_MAX - 1] = 1;
    answer[SPEC_NODES_MAX] = SPEC_NODES_MAX - 2;
    spec_script_init(&script, answer, SPEC_NODES_MAX + 1, NULL);
    spec_verify_traversal.verify(&round, &spec_verify_traversal, &draft, target, weight,
                                 &script.chance);
    assert_false(script.broken);
    assert_int_equal(script.used, SPEC_NODES_MAX + 1);
    assert_int_equal(round.n_accepted, 1);
    assert_int_equal(round.node[0], SPEC_NODES_MAX - 1);
    assert_int_equal(round.token[1], SPEC_NODES_MAX - 2);

    spec_draft_reset(&draft);
    for (int i = 0; i < SPEC_K_MAX; i++) spec_draft_append(&draft, 7, i - 1, NULL, false);
    for (int i = 0; i <= SPEC_K_MAX; i++) target[i] = one_hot;
    spec_script_init(&script, (const int[]){1, 7}, 2, NULL);
    spec_verify_traversal.verify(&round, &spec_verify_traversal, &draft, target, weight,
                                 &script.chance);
    assert_false(script.broken);
    assert_int_equal(round.n_accepted, SPEC_K_MAX);
    for (int i = 0; i < SPEC_K_MAX; i++) assert_int_equal(round.node[i], i);
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* With the same seed, every decision has the same probabilities, and the texts are the same. */
TEST(on_chains_it_is_block_decision_by_decision)
{
    static const char *const draftings[] = {"chain", "greedy", "lookup", "tree?n=1",
                                            "tree?n=1&siblings=hub"};
    enum { ROUNDS = 60, K = 5 };
    const uint64_t seed = spec_test_seed();
    for (int c = 0; c < 5 * 4 * PAIR_FAMILIES; c++) {
        stage s[2];
        spec_decoder decoder[2];
        const int prompt[] = {0, 1, 0};
        for (int i = 0; i < 2; i++) {
            stage_init(&s[i], 2 + c / 5 % 4, (pair_family)(c / 20), seed + (uint64_t)c);
            s[i].config.drafting = draftings[c % 5];
            s[i].config.rule = i == 0 ? "block" : "traversal";
            s[i].config.K = K;
            stage_open_decoder(&decoder[i], &s[i].config);
            assert_int_equal(spec_decoder_reset(&decoder[i], prompt, 3, NULL), GSL_SUCCESS);
        }
        for (int r = 0; r < ROUNDS; r++) {
            for (int i = 0; i < 2; i++)
                assert_int_equal(spec_decoder_round(&decoder[i], &s[i].chance, NULL, NULL),
                                 GSL_SUCCESS);
            const spec_round *block = &decoder[0].round, *traversal = &decoder[1].round;
            assert_int_equal(traversal->n_accepted, block->n_accepted);
            assert_int_equal(traversal->n_tested, block->n_tested);
            for (int i = 0; i < block->n_emitted; i++)
                assert_int_equal(traversal->token[i], block->token[i]);
            for (int i = 0; i < block->n_accepted; i++)
                assert_int_equal(traversal->node[i], block->node[i]);
        }
        for (int i = 0; i < 2; i++) {
            spec_decoder_free(&decoder[i]);
            stage_free(&s[i]);
        }
    }
}

/* Siblings that are chosen after a draw may depend on it, but this rule assumes the contrary. */
TEST(it_claims_to_be_lossless_for_siblings_of_every_kind_but_tail)
{
    const spec_rule *rule;
    assert_int_equal(spec_rule_find(&rule, "traversal", NULL), GSL_SUCCESS);
    assert_int_equal(rule->claim, SPEC_LOSSLESS);
    assert_int_equal(rule->siblings, SPEC_SIBLINGS_ANY & ~SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_TAIL));
}
