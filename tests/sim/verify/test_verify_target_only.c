/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks one coin for all siblings: every branch by script; the law is right for distinct
 * siblings. */
#include "sim/output_law.h"
#include "tests/support/near.h"
#include "tests/support/rule_law.h"
#include "tests/support/sibling_case.h"
#include "tests/support/support.h"

#include <string.h>

static const double target[4] = {0.4, 0.3, 0.2, 0.1}, row[4] = {0.1, 0.2, 0.3, 0.4};

/* The coin is below .3, within the next .2, within the next .1, or above all of them. */
TEST(one_coin_decides_about_all_siblings)
{
    const sibling_case cases[] = {
        {.rule = "target-only",
         .siblings = SPEC_SIBLINGS_TOP,
         .target = target,
         .row = row,
         .vocab = 4,
         .n = 3,
         .chosen = 3,
         .token = {1, 2, 3},
         .n_answers = 2,
         .answer = {1, 0},
         .asked = {0.3, 0.4},
         .accepted = 1,
         .emitted = 1},
        {.rule = "target-only",
         .siblings = SPEC_SIBLINGS_TOP,
         .target = target,
         .row = row,
         .vocab = 4,
         .n = 3,
         .chosen = 3,
         .token = {1, 2, 3},
         .n_answers = 3,
         .answer = {0, 1, 0},
         .asked = {0.7, 0.2 / 0.7, 0.4},
         .accepted = 1,
         .emitted = 2},
        {.rule = "target-only",
         .siblings = SPEC_SIBLINGS_WITHOUT,
         .target = target,
         .row = row,
         .vocab = 4,
         .n = 3,
         .chosen = 0,
         .token = {1, 2, 3},
         .n_answers = 4,
         .answer = {0, 0, 0, 0},
         .asked = {0.7, 0.5 / 0.7, 0.4 / 0.5, 1.0},
         .accepted = 0,
         .emitted = 0},
        /* acc: the coin is compared with .3/.6, then with .5/.6 */
        {.rule = "target-only?acc=0.6",
         .siblings = SPEC_SIBLINGS_TOP,
         .target = target,
         .row = row,
         .vocab = 4,
         .n = 2,
         .chosen = 2,
         .token = {1, 2},
         .n_answers = 3,
         .answer = {0, 0, 3},
         .asked = {0.5, 1.0 - 0.2 / 0.3, 0.1 / 0.5},
         .accepted = 0,
         .emitted = 3},
        {.rule = "target-only?acc=0.6",
         .siblings = SPEC_SIBLINGS_TOP,
         .target = target,
         .row = row,
         .vocab = 4,
         .n = 2,
         .chosen = 2,
         .token = {0, 2},
         .n_answers = 3,
         .answer = {0, 1, 1},
         .asked = {1.0 / 3.0, 1.0, 0.3},
         .accepted = 1,
         .emitted = 2},
        /* single: only the second sibling is probable enough */
        {.rule = "target-only?single=0.35",
         .siblings = SPEC_SIBLINGS_TOP,
         .target = target,
         .row = row,
         .vocab = 4,
         .n = 2,
         .chosen = 2,
         .token = {3, 0},
         .n_answers = 3,
         .answer = {0, 1, 1},
         .asked = {0.9, 1.0, 0.3},
         .accepted = 1,
         .emitted = 0},
    };
    SIBLING_CASES_CHECK(cases);
}

TEST(a_token_of_probability_0_is_never_accepted)
{
    static const double zero[4] = {0.0, 0.6, 0.4, 0.0};
    const sibling_case cases[] = {
        {.rule = "target-only",
         .siblings = SPEC_SIBLINGS_TOP,
         .target = zero,
         .row = row,
         .vocab = 4,
         .n = 2,
         .chosen = 2,
         .token = {0, 3},
         .n_answers = 3,
         .answer = {0, 0, 1},
         .asked = {1.0, 1.0, 0.6},
         .accepted = 0,
         .emitted = 1},
        {.rule = "target-only?acc=0&single=0",
         .siblings = SPEC_SIBLINGS_TOP,
         .target = zero,
         .row = row,
         .vocab = 4,
         .n = 2,
         .chosen = 2,
         .token = {3, 2},
         .n_answers = 3,
         .answer = {0, 1, 2},
         .asked = {1.0, 1.0, 0.4},
         .accepted = 1,
         .emitted = 2},
        {.rule = "target-only?acc=0",
         .siblings = SPEC_SIBLINGS_TOP,
         .target = zero,
         .row = row,
         .vocab = 4,
         .n = 2,
         .chosen = 2,
         .token = {1, 2},
         .n_answers = 2,
         .answer = {1, 1},
         .asked = {1.0, 0.6},
         .accepted = 1,
         .emitted = 1},
    };
    SIBLING_CASES_CHECK(cases);
}

/* The decoder refuses iid siblings: a repeated token would be counted twice. If they were judged
 * anyway, two drafts of token 0 with probability .4 would be accepted with .8. */
TEST(a_repeated_sibling_would_be_counted_twice)
{
    rule_case run;
    rule_case_init(&run, 4);
    for (int i = 0; i < 3; i++) run.target[i] = target;
    for (int i = 0; i < 2; i++) spec_draft_append(&run.draft, 0, -1, row, true);
    rule_case_verify(&run, "target-only", (const int[]){0, 0, 1}, 3);
    assert_within(run.asked[0] * run.asked[1], 0.2, 1e-15);
    assert_within(run.asked[2], 0.3 / 0.6, 1e-15);
    rule_case_free(&run);

    OWNED(table_model) goal, draft;
    rule_law_pair(&goal, &draft, target, row, 4);
    const spec_decoder_config config = {.target = &goal.head,
                                        .opt_draft = &draft.head,
                                        .drafting = "tree?n=2&siblings=iid",
                                        .policy = "fixed",
                                        .rule = "target-only",
                                        .K = 1,
                                        .costs = SPEC_COSTS_DEFAULT};
    spec_output_law law;
    assert_fails_with(spec_output_law_init(&law, &config, NULL, 0, 1, 0, &error), GSL_EINVAL,
                      "does not support the iid siblings");
}

TEST(the_claim_follows_the_settings)
{
    static const struct {
        const char *rule;
        spec_rule_claim claim;
    } claims[] = {{"target-only", SPEC_LOSSLESS},
                  {"target-only?acc=1&single=1", SPEC_LOSSLESS},
                  {"target-only?acc=0.999", SPEC_LOSSY},
                  {"target-only?single=0.999", SPEC_LOSSY}};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        spec_rule rule;
        assert_int_equal(spec_rule_init(&rule, claims[i].rule, NULL), GSL_SUCCESS);
        assert_int_equal(rule.claim, claims[i].claim);
    }
}

static double both_laws(const table_model *goal, const table_model *draft, const char *first,
                        const char *second, const char *drafting)
{
    spec_output_law one = rule_law(goal, draft, first, drafting, 2, 2),
                    two = rule_law(goal, draft, second, drafting, 2, 2);
    const double tv = one.tv;
    const int n = goal->head.vocab * goal->head.vocab;
    for (int i = 0; i < n; i++) assert_within(one.law[i], two.law[i], 1e-14);
    assert_within(one.accepted, two.accepted, 1e-14);
    spec_output_law_free(&one);
    spec_output_law_free(&two);
    return tv;
}

/* For chosen drafts acc is lenience's l; with both at 1 the rule accepts as match does. */
TEST(chains_have_the_laws_of_lenience_and_match)
{
    uint64_t noise = spec_test_seed();
    double most = 0.0;
    for (int c = 0; c < 20 * PAIR_FAMILIES; c++) {
        OWNED(table_model) goal, draft;
        const int V = 1 + (int)(4.0 * table_uniform(&noise));
        table_model_init(&goal, V);
        table_model_init(&draft, V);
        table_pair_randomize(&goal, &draft, (pair_family)(c % PAIR_FAMILIES), &noise);
        most = fmax(most,
                    both_laws(&goal, &draft, "target-only?acc=0.37", "lenience?l=0.37", "greedy"));
        (void)both_laws(&goal, &draft, "target-only", "match", "chain");
    }
    assert_true(most > 0.05);
}
