/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every branch of token-rest and naive-tree, forced by a script. For all rules of siblings:
 * rounding, and two children with one token. */
#include "tests/support/sibling_case.h"
#include "tests/support/support.h"

static const double target[4] = {0.4, 0.3, 0.2, 0.1}, row[4] = {0.1, 0.2, 0.3, 0.4};

TEST(token_rest_judges_the_drawn_one)
{
    static const double two[4] = {0.0, 0.0, 0.4, 0.6};
    const sibling_case cases[] = {
        /* Without 3 and 2, which are chosen, the row is (1/3, 2/3). */
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         row,
         4,
         3,
         2,
         {3, 2, 1},
         2,
         {1, 0},
         {0.45, 0.4},
         1,
         1},
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         row,
         4,
         3,
         2,
         {3, 2, 1},
         3,
         {0, 2, 0},
         {0.55, 0.2 / (11.0 / 30.0), 0.4},
         1,
         2},
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         row,
         4,
         3,
         2,
         {3, 2, 1},
         2,
         {0, 0},
         {0.55, 2.0 / 11.0},
         0,
         0},
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         row,
         4,
         3,
         2,
         {3, 2, 0},
         2,
         {1, 0},
         {1.0, 0.4},
         1,
         0},
        /* Their rest is 0: (1/2, 1/2). */
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         two,
         4,
         3,
         2,
         {3, 2, 0},
         2,
         {1, 1},
         {0.8, 0.3},
         1,
         0},
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         two,
         4,
         3,
         2,
         {3, 2, 0},
         3,
         {0, 3, 1},
         {0.2, 1.0 / 3.0, 0.3},
         1,
         3},
        /* All chosen: the target's own token. */
        {"token-rest",
         SPEC_SIBLINGS_TOP,
         target,
         row,
         4,
         2,
         2,
         {3, 2},
         2,
         {2, 1},
         {0.2, 0.3},
         1,
         2},
        {"token-rest", SPEC_SIBLINGS_TOP, target, row, 4, 2, 2, {3, 2}, 1, {1}, {0.3}, 0, 1},
    };
    SIBLING_CASES_CHECK(cases);
}

TEST(naive_tree_corrects_into_any_sibling)
{
    const sibling_case cases[] = {
        {"naive-tree",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         2,
         0,
         {3, 0},
         2,
         {1, 0},
         {0.25, 0.4},
         1,
         3},
        {"naive-tree",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         2,
         0,
         {3, 0},
         3,
         {0, 0, 1},
         {0.75, 0.75, 0.3},
         1,
         0},
        {"naive-tree",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         2,
         0,
         {3, 0},
         2,
         {0, 1},
         {0.75, 0.25},
         0,
         1},
        {"naive-tree",
         SPEC_SIBLINGS_TOP,
         target,
         row,
         4,
         2,
         2,
         {3, 2},
         3,
         {0, 2, 0},
         {0.9, 0.2 / 0.9, 0.4},
         1,
         2},
        {"token",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         2,
         0,
         {3, 0},
         2,
         {0, 0},
         {0.75, 0.75},
         0,
         0}, /* the first child alone */
    };
    SIBLING_CASES_CHECK(cases);
}

/* A rejection that only rounding makes possible leaves no residual: then the draw is from the
 * target itself. */
TEST(where_rounding_leaves_nothing_the_target_is_drawn_from)
{
    static const double almost[3] = {0x1.fffffffffffffp-2, 0.5, 0.0}, even[3] = {0.5, 0.5, 0.0};
    static const double hub[3] = {0.25, 0.25, 0.5}, spent[3] = {1.0, 0.0, 0.0};
    static const double nearly[3] = {0.25, 0.375 - 0x1p-54, 0.375};
    const sibling_case cases[] = {
        {"rrs", SPEC_SIBLINGS_IID, almost, even, 3, 2, 0, {0, 0}, 2, {0, 1}, {0.0, 0.5}, 0, 1},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         almost,
         even,
         3,
         2,
         0,
         {0, 1},
         3,
         {0, 0, 1},
         {0.0, 0.5, 0.5},
         1,
         0},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         almost,
         even,
         3,
         2,
         0,
         {0, 1},
         3,
         {0, 1, 1},
         {0.0, 0.5, 0.5},
         1,
         1},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         nearly,
         spent,
         3,
         2,
         0,
         {0, 1},
         3,
         {0, 0, 2},
         {0.75, 0.0, 0.375},
         0,
         2},
        {"spechub",
         SPEC_SIBLINGS_HUB,
         almost,
         hub,
         3,
         2,
         0,
         {2, 0},
         3,
         {0, 0, 1},
         {0.0, 1.0, 0.5},
         0,
         1},
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         almost,
         hub,
         3,
         2,
         1,
         {2, 0},
         2,
         {0, 1},
         {0.0, 0.5},
         0,
         1},
    };
    SIBLING_CASES_CHECK(cases);
}

/* Two children with the same token have a child each; the rule follows the first, whatever is below
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
