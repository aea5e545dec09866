/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks SpecHub: every branch, forced by a script. */
#include "tests/support/sibling_case.h"
#include "tests/support/support.h"

static const double target[4] = {0.4, 0.3, 0.2, 0.1}, row[4] = {0.1, 0.2, 0.3, 0.4};

TEST(spechub_serves_the_spokes_and_then_the_hub)
{
    static const double hubby[4] = {0.2, 0.2, 0.1, 0.5}, ties[4] = {0.3, 0.3, 0.2, 0.2},
                        one[4] = {0.0, 0.0, 0.0, 1.0};
    const sibling_case cases[] = {
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = target, .row = row, .vocab = 4,
         .n = 2, .token = {2, 3}, .n_answers = 2, .answer = {1, 0}, .asked = {2.0 / 3.0, 0.4},
         .accepted = 1, .emitted = 2},
        /* The pairs that begin with the hub use it up: the residual is (target - rest)+ = (7/30, 0,
         * 0, .). */
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = target, .row = row, .vocab = 4,
         .n = 2, .token = {2, 3}, .n_answers = 3, .answer = {0, 0, 0},
         .asked = {1.0 / 3.0, 1.0, 1.0}, .accepted = 0, .emitted = 0},
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = target, .row = row, .vocab = 4,
         .n = 2, .token = {3, 2}, .n_answers = 3, .answer = {0, 1, 0},
         .asked = {1.0, 0.1 / (7.0 / 30.0), 0.4}, .accepted = 1, .emitted = 3},
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = target, .row = row, .vocab = 4,
         .n = 2, .token = {3, 2}, .n_answers = 3, .answer = {0, 0, 0},
         .asked = {1.0, 1.0 - 3.0 / 7.0, 1.0}, .accepted = 0, .emitted = 0},
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = target, .row = row, .vocab = 4,
         .n = 2, .token = {3, 1}, .n_answers = 2, .answer = {1, 0}, .asked = {0.75, 0.4},
         .accepted = 1, .emitted = 1},
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = target, .row = row, .vocab = 4,
         .n = 2, .token = {3, 0}, .n_answers = 2, .answer = {1, 0}, .asked = {1.0, 0.4},
         .accepted = 1, .emitted = 0},
        /* Residual of the hub: 1/2 - 1/3, for .2 of pairs that end with it. */
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = hubby, .row = row, .vocab = 4,
         .n = 2, .token = {2, 3}, .n_answers = 3, .answer = {0, 1, 1},
         .asked = {2.0 / 3.0, 5.0 / 6.0, 0.2}, .accepted = 1, .emitted = 3},
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = hubby, .row = row, .vocab = 4,
         .n = 2, .token = {3, 2}, .n_answers = 3, .answer = {0, 1, 1}, .asked = {1.0, 1.0, 0.2},
         .accepted = 1, .emitted = 3},
        /* Among equals the lowest id is the hub. */
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = target, .row = ties,
         .vocab = 4, .n = 2, .token = {1, 0}, .n_answers = 2, .answer = {1, 0}, .asked = {1.0, 0.4},
         .accepted = 1, .emitted = 1},
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = target, .row = ties,
         .vocab = 4, .n = 2, .token = {0, 1}, .n_answers = 3, .answer = {0, 1, 0},
         .asked = {1.0, 1.0, 0.4}, .accepted = 1, .emitted = 0},
        /* There is only the hub, so the others are uniform. */
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = target, .row = one, .vocab = 4,
         .n = 2, .token = {3, 2}, .n_answers = 2, .answer = {1, 0}, .asked = {0.2 * 3.0, 0.4},
         .accepted = 1, .emitted = 2},
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = target, .row = one, .vocab = 4,
         .n = 2, .token = {3, 2}, .n_answers = 3, .answer = {0, 1, 0},
         .asked = {0.4, 0.1 / (1.0 / 30.0 + 4.0 / 30.0), 0.4}, .accepted = 1, .emitted = 3},
        {.rule = "spechub", .siblings = SPEC_SIBLINGS_HUB, .target = target, .row = one, .vocab = 4,
         .n = 2, .token = {3, 2}, .n_answers = 3, .answer = {0, 0, 0}, .asked = {0.4, 0.4, 1.0},
         .accepted = 0, .emitted = 0},
    };
    SIBLING_CASES_CHECK(cases);
}
