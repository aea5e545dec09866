/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tools/live/scorer_noise.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>

TEST(noise_compares_tokens_by_id)
{
    spec_live_place once = {.n = 3, .top = {{7, log(0.5)}, {3, log(0.3)}, {9, log(0.0005)}}};
    spec_live_place again = {
        .n = 3, .top = {{3, log(0.3) + 0.02}, {7, log(0.5) - 0.01}, {9, log(0.0005) + 0.4}}};
    const spec_served_text a = {.n = 1, .place = &once}, b = {.n = 1, .place = &again};
    const spec_scorer_noise noise = spec_scorer_noise_of(&a, &b, 1);
    assert_int_equal(noise.places, 1);
    assert_within(noise.worst, 0.02, 1e-12); /* the rare token does not count */
    assert_within(noise.margin, 0.03, 1e-12);
    assert_within(noise.variation, 0.3 * expm1(0.02) + 0.0005 * expm1(0.4), 1e-12);
    assert_within(noise.square, 0.5 * 1e-4 + 0.3 * 4e-4 + 0.0005 * 0.16, 1e-12);
}

TEST(a_text_that_was_not_scored_again_does_not_count)
{
    spec_live_place once = {.n = 1, .top = {{7, log(0.5)}}};
    const spec_served_text a = {.n = 1, .place = &once}, b = {.n = 0, .place = NULL};
    assert_int_equal(spec_scorer_noise_of(&a, &b, 1).places, 0);
}

TEST(without_noise_a_verdict_needs_one_over_the_rate)
{
    const spec_scorer_noise none = {.square = 0.0};
    assert_within(spec_scorer_noise_needed(&none, 1e6, 1e-6), -log(1e-6), 1e-12);
}

/* The worst case: the true law is shifted by the noise, always in the direction of the bet. For n
 * normal draws with mean d = sqrt(square), the likelihood ratio of a shift m is an e-value of the
 * scored law, and its chance to reach the threshold is known. For the worst m this chance is at
 * most the rate, and not less than a twentieth of it, so the threshold is valid and not vacuous. */
TEST(a_bet_on_the_noise_itself_keeps_the_rate)
{
    const double n = 20000.0, d = 0.01, rate = 1e-4;
    const spec_scorer_noise noise = {.square = d * d};
    const double needed = spec_scorer_noise_needed(&noise, n, rate);
    double worst = 0.0;
    for (double m = 0.001; m < 0.2; m *= 1.02) {
        /* log e = m sum - n m^2/2, and sum is normal with mean n d and variance n */
        const double z = (needed + 0.5 * n * m * m - n * m * d) / (m * sqrt(n));
        worst = fmax(worst, gsl_cdf_ugaussian_Q(z));
    }
    assert_true(worst <= rate);
    assert_true(worst >= rate / 20.0);
    assert_true(needed > -log(rate) + 5.0);
}
