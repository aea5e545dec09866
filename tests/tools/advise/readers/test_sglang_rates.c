/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/support.h"
#include "tools/advise/readers/sglang_rates.h"

#include <math.h>

static bool add(spec_sglang_rates *rates, double length, double rate)
{
    return spec_sglang_rates_add(rates, length, 0.005, rate, 0.005);
}

/* SGLang prints length 1.00 with rate .11 if none of 8 draft tokens is accepted: 1/9. */
TEST(a_rate_without_accepted_tokens_names_the_old_meaning)
{
    spec_sglang_rates rates = {0};
    assert_int_equal(spec_sglang_rates_K(&rates), -1);
    assert_int_equal(spec_sglang_rates_meaning(&rates), SPEC_SGLANG_OPEN);
    assert_true(add(&rates, 1.00, 0.11));
    assert_int_equal(spec_sglang_rates_meaning(&rates), SPEC_SGLANG_BONUS);
    assert_int_equal(spec_sglang_rates_K(&rates), 8);
}

/* 1.59 accepted of 3: .53. */
TEST(one_line_of_the_new_meaning_is_enough)
{
    spec_sglang_rates rates = {0};
    assert_true(add(&rates, 2.59, 0.53));
    assert_int_equal(spec_sglang_rates_K(&rates), 3);
    assert_int_equal(spec_sglang_rates_meaning(&rates), SPEC_SGLANG_DRAFTS);
    assert_true(spec_sglang_rates_agree(&rates, SPEC_SGLANG_OPEN, 3));
    assert_false(spec_sglang_rates_agree(&rates, SPEC_SGLANG_BONUS, 3));
    assert_false(spec_sglang_rates_agree(&rates, SPEC_SGLANG_DRAFTS, 2));
    assert_false(spec_sglang_rates_agree(&rates, SPEC_SGLANG_OPEN, 0));
    assert_false(spec_sglang_rates_agree(&rates, SPEC_SGLANG_OPEN, 65));
}

/* Length 2 with rate .5 is 2/4 (K 3) or 1/2 (K 2); a second line decides. */
TEST(lines_that_leave_both_meanings_open_wait_for_another)
{
    spec_sglang_rates rates = {0};
    assert_true(add(&rates, 2.00, 0.50));
    assert_int_equal(spec_sglang_rates_K(&rates), -1);
    assert_int_equal(spec_sglang_rates_meaning(&rates), SPEC_SGLANG_OPEN);
    spec_sglang_rates old = rates;
    assert_true(add(&rates, 2.40, 0.70));
    assert_int_equal(spec_sglang_rates_K(&rates), 2);
    assert_int_equal(spec_sglang_rates_meaning(&rates), SPEC_SGLANG_DRAFTS);
    assert_true(add(&old, 2.40, 0.60));
    assert_int_equal(spec_sglang_rates_K(&old), 3);
    assert_int_equal(spec_sglang_rates_meaning(&old), SPEC_SGLANG_BONUS);
}

/* 2.649 is rounded to 2.6 and 1.649 / 3 to .55, but 1.6 / 3 would give .53. */
TEST(the_rounding_of_the_length_counts)
{
    spec_sglang_rates rates = {0};
    assert_true(spec_sglang_rates_add(&rates, 2.6, 0.05, 0.55, 0.005));
    assert_true(spec_sglang_rates_agree(&rates, SPEC_SGLANG_DRAFTS, 3));
    assert_false(spec_sglang_rates_agree(&rates, SPEC_SGLANG_OPEN, 2));
}

TEST(another_draft_length_begins_anew)
{
    spec_sglang_rates rates = {0};
    assert_true(add(&rates, 2.59, 0.53));
    assert_false(add(&rates, 3.10, 0.42)); /* 2.10 of 5 */
    assert_int_equal(spec_sglang_rates_K(&rates), 5);
    assert_false(add(&rates, 3.10, 0.93)); /* of no K: 2.1 / 2 is over 1, 2.1 / 3 is .70 */
    assert_int_equal(rates.not_bonus, 0);
    assert_int_equal(rates.not_drafts, 0);
}

/* Writes lines of random means with each meaning: the true K agrees with all of them, and up to K =
 * 16 twenty lines leave no other K. */
TEST(the_true_length_always_agrees)
{
    uint64_t random = spec_test_seed();
    for (int K = 1; K <= 64; K++) {
        for (int bonus = 0; bonus <= 1; bonus++) {
            spec_sglang_rates rates = {0};
            for (int line = 0; line < 20; line++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                const double rounds = 1280.0,
                             accepted = floor((double)(random >> 11) * 0x1p-53 * K * rounds);
                const double length = 1.0 + accepted / rounds;
                const double rate = bonus ? length / (K + 1) : (length - 1.0) / K;
                assert_true(
                    add(&rates, round(length * 100.0) / 100.0, round(rate * 100.0) / 100.0));
                assert_true(spec_sglang_rates_agree(
                    &rates, bonus ? SPEC_SGLANG_BONUS : SPEC_SGLANG_DRAFTS, K));
            }
            if (K <= 16) {
                assert_int_equal(spec_sglang_rates_K(&rates), K);
                assert_int_equal(spec_sglang_rates_meaning(&rates),
                                 bonus ? SPEC_SGLANG_BONUS : SPEC_SGLANG_DRAFTS);
            }
        }
    }
}
