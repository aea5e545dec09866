/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/acceptance_average.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

TEST(a_step_adds_its_tested_tokens_once)
{
    static const int32_t K[] = {3, 2, 0, 4}, accepted[] = {3, 1, 0, 0}; /* tested 3, 2, 0, 1 */
    spec_acceptance_average average = {2.7f, 4.0f};
    spec_acceptance_average_add(&average, K, accepted, 4, 0.25);
    assert_near((double)average.passed, 0.75 * 2.7 + 4.0, 1e-7);
    assert_near((double)average.tested, 0.75 * 4.0 + 6.0, 1e-7);
    assert_near((double)spec_acceptance_average_alpha(&average), 6.025 / 9.0, 1e-7);
}

/* Otherwise the weights of the past would fall to 0, and alpha would be 0/0. */
TEST(steps_without_drafts_leave_the_average)
{
    static const int32_t none[] = {0, 0};
    spec_acceptance_average average = {2.7f, 4.0f};
    for (int i = 0; i < 10000; i++) spec_acceptance_average_add(&average, none, none, 2, 0.05);
    assert_true(average.passed == 2.7f && average.tested == 4.0f);
}
