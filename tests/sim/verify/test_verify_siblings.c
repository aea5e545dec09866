/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks every branch of token-rest and naive-tree, forced by a script. For all rules of siblings:
 * rounding, and two children with one token. */
#include "tests/support/sibling_case.h"
#include "tests/support/support.h"

static const double target[4] = {0.4, 0.3, 0.2, 0.1}, row[4] = {0.1, 0.2, 0.3, 0.4};

TEST(token_rest_judges_the_drawn_one)
{
    static const double two[4] = {0.0, 0.0, 0.4, 0.6};
    const sibling_case cases[] = {
        /* Without 3 and 2, which are chosen, the row is (1/3, 2/3). */
        {.rule = "token-rest", .siblings = SPEC_SIBLINGS_GREEDY, .target = target, .row = row,
         .vocab = 4, .n = 3, .chosen = 2, .token = {3, 2, 1}, .n_answers = 2, .answer = {1, 0},
         .asked = {0.45, 0.4}, .accepted = 1, .emitted = 1},
        {.rule = "token-rest", .siblings = SPEC_SIBLINGS_GREEDY, .target = target, .row = row,
         .vocab = 4, .n = 3, .chosen = 2, .token = {3, 2, 1}, .n_answers = 3, .answer = {0, 2, 0},
         .asked = {0.55, 0.2 / (11.0 / 30.0), 0.4}, .accepted = 1, .emitted = 2},
        {.rule = "token-rest", .siblings = SPEC_SIBLINGS_GREEDY, .target = target, .row = row,
         .vocab = 4, .n = 3, .chosen = 2, .token = {3, 2, 1}, .n_answers = 2, .answer = {0, 0},
         .asked = {0.55, 2.0 / 11.0}, .accepted = 0, .emitted = 0},
        {.rule = "token-rest", .siblings = SPEC_SIBLINGS_GREEDY, .target = target, .row = row,
         .vocab = 4, .n = 3, .chosen = 2, .token = {3, 2, 0}, .n_answers = 2, .answer = {1, 0},
         .asked = {1.0, 0.4}, .accepted = 1, .emitted = 0},
        /* Their rest is 0: (1/2, 1/2). */
        {.rule = "token-rest", .siblings = SPEC_SIBLINGS_GREEDY, .target = target, .row = two,
         .vocab = 4, .n = 3, .chosen = 2, .token = {3, 2, 0}, .n_answers = 2, .answer = {1, 1},
         .asked = {0.8, 0.3}, .accepted = 1, .emitted = 0},
        {.rule = "token-rest", .siblings = SPEC_SIBLINGS_GREEDY, .target = target, .row = two,
         .vocab = 4, .n = 3, .chosen = 2, .token = {3, 2, 0}, .n_answers = 3, .answer = {0, 3, 1},
         .asked = {0.2, 1.0 / 3.0, 0.3}, .accepted = 1, .emitted = 3},
        /* All are chosen, so the target's own token is drawn. */
        {.rule = "token-rest", .siblings = SPEC_SIBLINGS_TOP, .target = target, .row = row,
         .vocab = 4, .n = 2, .chosen = 2, .token = {3, 2}, .n_answers = 2, .answer = {2, 1},
         .asked = {0.2, 0.3}, .accepted = 1, .emitted = 2},
        {.rule = "token-rest", .siblings = SPEC_SIBLINGS_TOP, .target = target, .row = row,
         .vocab = 4, .n = 2, .chosen = 2, .token = {3, 2}, .n_answers = 1, .answer = {1},
         .asked = {0.3}, .accepted = 0, .emitted = 1},
    };
    SIBLING_CASES_CHECK(cases);
}

/* Tail siblings 3, 1, 2: 1 is drawn from (1/6, 1/3, 1/2, 0), from which 2 is not removed although
 * it is a sibling; the residual is (7/30, 0, 0, 1/10). If 2 were treated as chosen before, the test
 * of 1 would have 0.45. */
#define TAIL(its_row)                                                                              \
    .rule = "token-rest", .siblings = SPEC_SIBLINGS_TAIL, .target = target, .row = its_row,        \
    .vocab = 4, .n = 3, .chosen = 1
TEST(token_rest_judges_a_draw_before_the_last_by_its_tail)
{
    static const double one[4] = {0.0, 0.0, 0.0, 1.0};
    const sibling_case cases[] = {
        {TAIL(row), .token = {3, 1, 2}, .n_answers = 2, .answer = {1, 0}, .asked = {0.9, 0.4},
         .accepted = 1, .emitted = 1},
        {TAIL(row), .token = {3, 1, 2}, .n_answers = 3, .answer = {0, 3, 0},
         .asked = {0.1, 0.3, 0.4}, .accepted = 1, .emitted = 3},
        {TAIL(row), .token = {3, 1, 2}, .n_answers = 2, .answer = {0, 0}, .asked = {0.1, 0.7},
         .accepted = 0, .emitted = 0},
        /* Without a tail, the draw is uniform over the other three. */
        {TAIL(one), .token = {3, 2, 0}, .n_answers = 3, .answer = {0, 0, 0},
         .asked = {0.4, 0.4, 0.4}, .accepted = 1, .emitted = 0},
    };
    SIBLING_CASES_CHECK(cases);
}

TEST(naive_tree_corrects_into_any_sibling)
{
    const sibling_case cases[] = {
        {.rule = "naive-tree", .siblings = SPEC_SIBLINGS_IID, .target = target, .row = row,
         .vocab = 4, .n = 2, .token = {3, 0}, .n_answers = 2, .answer = {1, 0},
         .asked = {0.25, 0.4}, .accepted = 1, .emitted = 3},
        {.rule = "naive-tree", .siblings = SPEC_SIBLINGS_IID, .target = target, .row = row,
         .vocab = 4, .n = 2, .token = {3, 0}, .n_answers = 3, .answer = {0, 0, 1},
         .asked = {0.75, 0.75, 0.3}, .accepted = 1, .emitted = 0},
        {.rule = "naive-tree", .siblings = SPEC_SIBLINGS_IID, .target = target, .row = row,
         .vocab = 4, .n = 2, .token = {3, 0}, .n_answers = 2, .answer = {0, 1},
         .asked = {0.75, 0.25}, .accepted = 0, .emitted = 1},
        {.rule = "naive-tree", .siblings = SPEC_SIBLINGS_TOP, .target = target, .row = row,
         .vocab = 4, .n = 2, .chosen = 2, .token = {3, 2}, .n_answers = 3, .answer = {0, 2, 0},
         .asked = {0.9, 0.2 / 0.9, 0.4}, .accepted = 1, .emitted = 2},
        {.rule = "token", .siblings = SPEC_SIBLINGS_IID, .target = target, .row = row, .vocab = 4,
         .n = 2, .token = {3, 0}, .n_answers = 2, .answer = {0, 0}, .asked = {0.75, 0.75},
         .accepted = 0, .emitted = 0}, /* the first child alone */
    };
    SIBLING_CASES_CHECK(cases);
}

/* If only rounding makes a rejection possible, it leaves no residual, and the draw is from the
 * target itself. */
TEST(where_rounding_leaves_nothing_the_target_is_drawn_from)
{
    static const double almost[3] = {0x1.fffffffffffffp-2, 0.5, 0.0}, even[3] = {0.5, 0.5, 0.0};
    static const double hub[3] = {0.25, 0.25, 0.5}, spent[3] = {1.0, 0.0, 0.0};
    static const double nearly[3] = {0.25, 0.375 - 0x1p-54, 0.375};
    const sibling_case cases[] = {
        {.rule = "rrs", .siblings = SPEC_SIBLINGS_IID, .target = almost, .row = even, .vocab = 3,
         .n = 2, .token = {0, 0}, .n_answers = 2, .answer = {0, 1}, .asked = {0.0, 0.5},
         .accepted = 0, .emitted = 1},
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = almost, .row = even,
         .vocab = 3, .n = 2, .token = {0, 1}, .n_answers = 3, .answer = {0, 0, 1},
         .asked = {0.0, 0.5, 0.5}, .accepted = 1, .emitted = 0},
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = almost, .row = even,
         .vocab = 3, .n = 2, .token = {0, 1}, .n_answers = 3, .answer = {0, 1, 1},
         .asked = {0.0, 0.5, 0.5}, .accepted = 1, .emitted = 1},
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = nearly, .row = spent,
         .vocab = 3, .n = 2, .token = {0, 1}, .n_answers = 3, .answer = {0, 0, 2},
         .asked = {0.75, 0.0, 0.375}, .accepted = 0, .emitted = 2},
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = almost, .row = hub, .vocab = 3,
         .n = 2, .token = {2, 0}, .n_answers = 3, .answer = {0, 0, 1}, .asked = {0.0, 1.0, 0.5},
         .accepted = 0, .emitted = 1},
        {.rule = "token-rest", .siblings = SPEC_SIBLINGS_GREEDY, .target = almost, .row = hub,
         .vocab = 3, .n = 2, .chosen = 1, .token = {2, 0}, .n_answers = 2, .answer = {0, 1},
         .asked = {0.0, 0.5}, .accepted = 0, .emitted = 1},
    };
    SIBLING_CASES_CHECK(cases);
}

/* Two siblings with the same token have a child each; the rule follows the first, whatever is below
 * either. */
TEST(of_two_children_with_one_token_the_first_is_followed)
{
    static const char *const rules[] = {"match", "naive-tree", "rrs", "kseq"};
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        OWNED(rule_case) run;
        rule_case_init(&run, 4);
        for (int i = 0; i <= 4; i++) run.target[i] = row; /* equal rows */
        spec_draft_append(&run.draft, 2, -1, row, true);
        spec_draft_append(&run.draft, 2, -1, row, true);
        spec_draft_append(&run.draft, 1, 0, row, true);
        spec_draft_append(&run.draft, 1, 1, row, true);
        const bool matches = r == 0;
        rule_case_verify(&run, rules[r], matches ? (const int[]){2, 1, 3} : (const int[]){1, 1, 3},
                         3);
        assert_int_equal(run.round.n_accepted, 2);
        assert_int_equal(run.round.n_tested, 2);
        assert_int_equal(run.round.node[0], 0);
        assert_int_equal(run.round.node[1], 2);
    }
}
