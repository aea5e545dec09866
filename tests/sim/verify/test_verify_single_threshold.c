/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/support.h"

TEST(a_probable_token_is_accepted_for_certain)
{
    OWNED(rule_case) run = rule_case_text((const int[]){2, 2, 1}, 3);
    rule_case_verify(&run, "single-threshold?s=0.55", (const int[]){1, 1, 1, 1}, 4);
    assert_within(run.asked[0], 0.2 / 0.3, 1e-15); /* .2 is below .55 */
    assert_within(run.asked[1], 1.0, 0.0);         /* .55 is not, though .55 > .3 decides it too */
    assert_within(run.asked[2], 0.36 / 0.5, 1e-15);
    rule_case_verify(&run, "single-threshold?s=0.36", (const int[]){1, 1, 1, 1}, 4);
    assert_within(run.asked[2], 1.0, 0.0); /* .36 < .5 is accepted by the threshold alone */
    assert_int_equal(run.round.n_accepted, 3);
    rule_case_verify(&run, "single-threshold", (const int[]){1, 1, 0, 3}, 4);
    assert_within(run.asked[2], 1.0 - 0.36 / 0.5, 1e-15); /* s is .8 by default */
    assert_within(run.asked[3], 0.02 / 0.29, 1e-14);      /* (.27, 0, 0, .02) */
}

TEST(a_token_of_probability_0_is_rejected_at_any_threshold)
{
    OWNED(rule_case) run = rule_case_text((const int[]){2, 2, 2}, 3);
    rule_case_verify(&run, "single-threshold?s=0", (const int[]){1, 1, 0, 0}, 4);
    assert_within(run.asked[0], 1.0, 0.0);
    assert_within(run.asked[2], 1.0, 0.0);
    assert_int_equal(run.round.n_accepted, 2);
}
