/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/support.h"

TEST(acceptance_is_a_mixture_and_the_correction_the_token_rules)
{
    OWNED(rule_case) run = rule_case_text((const int[]){3, 0, 2}, 3);
    rule_case_verify(&run, "ensemble?w=0.4", (const int[]){1, 1, 0, 0}, 4);
    assert_within(run.asked[0], 0.6 + 0.4 * 0.1 / 0.4, 1e-15);
    assert_within(run.asked[1], 0.6 + 0.4 * 0.15 / 0.3, 1e-15);
    assert_within(run.asked[2], 0.4, 1e-15);         /* also a token of probability 0: .6 */
    assert_within(run.asked[3], 0.27 / 0.29, 1e-14); /* (.27, 0, 0, .02) */
    rule_case_verify(&run, "ensemble", (const int[]){0, 1}, 2); /* w = .7 by default */
    assert_within(run.asked[0], 1.0 - (0.3 + 0.7 * 0.1 / 0.4), 1e-15);
    assert_within(run.asked[1], 0.1 / 0.4, 1e-14); /* (.3, .1, 0, 0) */
}

TEST(a_chosen_token_is_one_hot)
{
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    for (int i = 0; i < 2; i++) run.target[i] = rule_case_target[i];
    spec_draft_append(&run.draft, 3, -1, rule_case_draft[0], false);
    rule_case_verify(&run, "ensemble?w=0.4", (const int[]){0, 0}, 2);
    assert_within(run.asked[0], 1.0 - (0.6 + 0.4 * 0.1), 1e-15);
    assert_within(run.asked[1], 0.4 / 0.9, 1e-15);
}
