/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks recursive rejection of siblings, with and without replacement: every branch, by a
 * script. */
#include "tests/support/sibling_case.h"
#include "tests/support/support.h"

static const double target[4] = {0.4, 0.3, 0.2, 0.1}, row[4] = {0.1, 0.2, 0.3, 0.4};

TEST(rrs_tests_each_sibling_against_what_is_left)
{
    const sibling_case cases[] = {
        /* residual: target; (.3, .1, 0, 0)/.4; (.26, .02, 0, 0)/.28; (.232, 0, 0, 0). */
        {.rule = "rrs", .siblings = SPEC_SIBLINGS_IID, .target = target, .row = row, .vocab = 4,
         .n = 3, .token = {3, 2, 1}, .n_answers = 4, .answer = {0, 0, 0, 0},
         .asked = {0.75, 1.0, 1.0 - 0.02 / 0.28 / 0.2, 1.0}, .accepted = 0, .emitted = 0},
        {.rule = "rrs", .siblings = SPEC_SIBLINGS_IID, .target = target, .row = row, .vocab = 4,
         .n = 3, .token = {3, 2, 1}, .n_answers = 4, .answer = {0, 0, 1, 2},
         .asked = {0.75, 1.0, 0.02 / 0.28 / 0.2, 0.2}, .accepted = 1, .emitted = 1},
        {.rule = "rrs", .siblings = SPEC_SIBLINGS_IID, .target = target, .row = row, .vocab = 4,
         .n = 2, .token = {3, 1}, .n_answers = 3, .answer = {0, 1, 0}, .asked = {0.75, 1.0, 0.4},
         .accepted = 1, .emitted = 1},
        {.rule = "rrs", .siblings = SPEC_SIBLINGS_IID, .target = target, .row = row, .vocab = 4,
         .n = 2, .token = {3, 1}, .n_answers = 2, .answer = {1, 3}, .asked = {0.25, 0.1},
         .accepted = 1, .emitted = 3},
        {.rule = "rrs", .siblings = SPEC_SIBLINGS_IID, .target = target, .row = row, .vocab = 4,
         .n = 2, .token = {3, 3}, .n_answers = 3, .answer = {0, 0, 1},
         .asked = {0.75, 1.0, 0.02 / 0.28}, .accepted = 0, .emitted = 1}, /* the same again */
        {.rule = "rrs", .siblings = SPEC_SIBLINGS_IID, .target = target, .row = row, .vocab = 4,
         .n = 2, .token = {3, 3}, .n_answers = 3, .answer = {0, 0, 0},
         .asked = {0.75, 1.0, 0.26 / 0.28}, .accepted = 0, .emitted = 0},
    };
    SIBLING_CASES_CHECK(cases);
}

TEST(rrsw_judges_siblings_by_what_was_left_of_the_row)
{
    static const double example_target[3] = {0.3, 0.4, 0.3}, example_row[3] = {0.6, 0.3, 0.1};
    static const double halves[4] = {0.5, 0.5, 0.0, 0.0}, rising[4] = {0.1, 0.2, 0.3, 0.4};
    const sibling_case cases[] = {
        /* The example of arXiv:2505.12398 section 2.2. */
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = example_target,
         .row = example_row, .vocab = 3, .n = 2, .token = {0, 1}, .n_answers = 3,
         .answer = {0, 1, 2}, .asked = {0.5, 4.0 / 9.0, 0.3}, .accepted = 1, .emitted = 1},
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = example_target,
         .row = example_row, .vocab = 3, .n = 2, .token = {0, 1}, .n_answers = 3,
         .answer = {0, 0, 2}, .asked = {0.5, 5.0 / 9.0, 1.0}, .accepted = 0, .emitted = 2},
        /* residual: (.3, .1, 0, 0)/.4, of the row .6; (7/30, 0, 0, 0), of the row .3. */
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = target, .row = row,
         .vocab = 4, .n = 3, .token = {3, 2, 1}, .n_answers = 4, .answer = {0, 0, 0, 0},
         .asked = {0.75, 1.0, 1.0, 1.0}, .accepted = 0, .emitted = 0},
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = target, .row = row,
         .vocab = 4, .n = 3, .token = {3, 1, 0}, .n_answers = 3, .answer = {0, 1, 1},
         .asked = {0.75, 0.75, 0.3}, .accepted = 1, .emitted = 1},
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = target, .row = row,
         .vocab = 4, .n = 3, .token = {3, 1, 0}, .n_answers = 4, .answer = {0, 0, 1, 1},
         .asked = {0.75, 0.25, 1.0, 0.3}, .accepted = 1, .emitted = 0},
        /* The rest of the row is 0: the others are uniform. residual: (0, 0, .3, .4)/.7, then (0,
         * 0, 0, .05). */
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = rising, .row = halves,
         .vocab = 4, .n = 4, .token = {0, 1, 2, 3}, .n_answers = 4, .answer = {0, 0, 1, 3},
         .asked = {0.8, 1.0, 6.0 / 7.0, 0.4}, .accepted = 1, .emitted = 2},
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = rising, .row = halves,
         .vocab = 4, .n = 4, .token = {0, 1, 2, 3}, .n_answers = 5, .answer = {0, 0, 0, 1, 3},
         .asked = {0.8, 1.0, 1.0 / 7.0, 1.0, 0.4}, .accepted = 1, .emitted = 3},
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = rising, .row = halves,
         .vocab = 4, .n = 3, .token = {0, 1, 2}, .n_answers = 4, .answer = {0, 0, 0, 3},
         .asked = {0.8, 1.0, 1.0 / 7.0, 1.0}, .accepted = 0, .emitted = 3},
        {.rule = "rrsw", .siblings = SPEC_SIBLINGS_WITHOUT, .target = rising, .row = halves,
         .vocab = 4, .n = 2, .token = {0, 1}, .n_answers = 3, .answer = {0, 0, 2},
         .asked = {0.8, 1.0, 3.0 / 7.0}, .accepted = 0, .emitted = 2},
    };
    SIBLING_CASES_CHECK(cases);
}
