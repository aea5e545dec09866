/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/support.h"

#include <math.h>

static double raised(double t, double delta)
{
    return t + sqrt(2.0 * delta * t * (1.0 - t));
}

TEST(the_draft_token_is_raised_and_the_others_scaled)
{
    OWNED(rule_case) run = rule_case_text((const int[]){3, 0, 2}, 3);
    const double first = raised(0.1, 0.01), scale = (1.0 - first) / 0.9;
    rule_case_verify(&run, "cactus?delta=0.01", (const int[]){0, 0}, 2);
    assert_within(run.asked[0], 1.0 - first / 0.4, 1e-15);
    const double left[2] = {0.4 * scale - 0.1, 0.3 * scale - 0.2};
    assert_within(run.asked[1], left[0] / (left[0] + left[1]), 1e-14);
    /* without a divergence it is the token rule */
    rule_case_verify(&run, "cactus?delta=0", (const int[]){0, 0}, 2);
    assert_within(run.asked[0], 1.0 - 0.1 / 0.4, 1e-15);
    assert_within(run.asked[1], 0.3 / 0.4, 1e-14);
}

TEST(a_chosen_token_is_one_hot)
{
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    for (int i = 0; i < 2; i++) run.target[i] = rule_case_target[i];
    spec_draft_append(&run.draft, 3, -1, rule_case_draft[0], false);
    rule_case_verify(&run, "cactus?delta=0.1", (const int[]){0, 0}, 2);
    assert_within(run.asked[0], 1.0 - raised(0.1, 0.1), 1e-15);
    assert_within(run.asked[1], 0.4 / 0.9, 1e-15);
}
