/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/evalue.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

static const double row[3] = {0.27, 0.61, 0.12};

/* Bets on one draw after another, with the shares that the prior and the earlier draws give. */
static double one_by_one(const int *draw, int n, const uint64_t *before, double weight)
{
    double gain = 0.0, seen[3], all = weight;
    for (int i = 0; i < 3; i++) all += seen[i] = (double)before[i];
    for (int t = 0; t < n; t++) {
        const int x = draw[t];
        gain += log((weight * row[x] + seen[x]++) / all++) - log(row[x]);
    }
    return gain;
}

TEST(a_batch_gains_what_its_draws_gain_one_by_one)
{
    static const int draw[14] = {0, 1, 1, 2, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1};
    static const uint64_t before[3] = {2, 1000003, 0};
    static const double weights[3] = {0.35, 20.0, 4000.0};
    for (int n = 0; n <= 14; n++)
        for (int w = 0; w < 3; w++) {
            uint64_t next[3] = {0, 0, 0};
            for (int t = 0; t < n; t++) next[draw[t]]++;
            const double gain = spec_evalue_dirichlet(next, before, row, 3, weights[w]);
            assert_within(gain, one_by_one(draw, n, before, weights[w]), 1e-13);
        }
}

/* Over every possible sequence of draws, weighted by its probability, the mean capital is exactly
 * 1, whatever the earlier counts. */
TEST(under_the_null_the_mean_capital_is_one)
{
    enum { N = 5 };
    static const uint64_t befores[2][3] = {{0, 0, 0}, {7, 1, 90}};
    for (int b = 0; b < 2; b++) {
        double dirichlet = 0.0, event = 0.0;
        for (int s = 0; s < 243; s++) {
            uint64_t next[3] = {0, 0, 0};
            double chance = 1.0;
            for (int t = 0, rest = s; t < N; t++, rest /= 3) {
                next[rest % 3]++;
                chance *= row[rest % 3];
            }
            dirichlet += chance * exp(spec_evalue_dirichlet(next, befores[b], row, 3, 2.5));
            event += chance * exp(spec_evalue_event(next[1], N, row[1], b == 0 ? 1.3 : -0.9));
        }
        assert_near(dirichlet, 1.0, 1e-13);
        assert_near(event, 1.0, 1e-13);
    }
}

/* If the draws follow another law, the log capital grows per draw by the divergence of the two
 * laws, less about (df/2) log n in total. */
TEST(a_difference_makes_the_capital_grow_at_the_rate_of_its_divergence)
{
    static const double other[3] = {0.30, 0.55, 0.15};
    static const uint64_t none[3] = {0, 0, 0};
    uint64_t next[3];
    double rate = 0.0;
    const double n = 1e6;
    for (int i = 0; i < 3; i++) {
        next[i] = (uint64_t)(n * other[i] + 0.5);
        rate += other[i] * log(other[i] / row[i]);
    }
    const double gain = spec_evalue_dirichlet(next, none, row, 3, 3.0);
    assert_true(gain < n * rate && gain > n * rate - log(n) - 5.0);
    /* If the counts are those of the null, the capital is lost, slowly. */
    for (int i = 0; i < 3; i++) next[i] = (uint64_t)(n * row[i] + 0.5);
    const double lost = spec_evalue_dirichlet(next, none, row, 3, 3.0);
    assert_true(lost < 0.0 && lost > -log(n) - 5.0);
}

TEST(what_cannot_come_wins_everything)
{
    static const double half[3] = {0.5, 0.0, 0.5};
    static const uint64_t none[3] = {0, 0, 0}, never[3] = {3, 1, 3}, often[3] = {3, 0, 4};
    assert_same(spec_evalue_dirichlet(never, none, half, 3, 1.0), INFINITY);
    assert_true(isfinite(spec_evalue_dirichlet(often, none, half, 3, 1.0)));
    assert_same(spec_evalue_dirichlet(none, never, half, 3, 1.0), 0.0);
}

TEST(means_and_p_values)
{
    const double log_e[3] = {log(2.0), log(0.385), -INFINITY}, large[2] = {2000.0, 1999.0};
    assert_near(exp(spec_evalue_mean(log_e, 3)), (2.0 + 0.385) / 3.0, 1e-15);
    assert_near(spec_evalue_mean(large, 2), 2000.0 + log((1.0 + exp(-1.0)) / 2.0), 1e-15);
    assert_same(spec_evalue_mean((double[1]){INFINITY}, 1), INFINITY);
    assert_same(spec_evalue_mean((double[2]){-INFINITY, -INFINITY}, 2), -INFINITY);
    assert_near(spec_evalue_p(log(385.0)), 1.0 / 385.0, 1e-14);
    assert_same(spec_evalue_p(-2.0), 1.0);
    assert_same(spec_evalue_p(0.0), 1.0);
    assert_near(spec_evalue_p(0.385), exp(-0.385), 1e-15);
    assert_same(spec_evalue_p(INFINITY), 0.0);
}

TEST(certain_events_are_bet_on_for_nothing)
{
    assert_same(spec_evalue_event(5, 5, 1.0, 0.7), 0.0);
    assert_same(spec_evalue_event(0, 5, 0.0, 0.7), 0.0);
}

TEST(a_row_may_be_off_by_rounding)
{
    static const uint64_t some[2] = {1, 1};
    assert_true(spec_evalue_dirichlet(some, some, (double[2]){0.385, 0.615 + 9e-10}, 2, 1.0) >
                -1.0);
    assert_nan(spec_evalue_dirichlet(some, some, (double[2]){0.385, 0.615 + 2e-9}, 2, 1.0));
}

TEST(outside_the_domain_there_is_no_number)
{
    static const uint64_t some[2] = {1, 1};
    static const double bad[4][2] = {{-0.1, 1.1}, {0.5, 0.6}, {NAN, 0.5}, {0.4, 0.5}};
    for (int i = 0; i < 4; i++) assert_nan(spec_evalue_dirichlet(some, some, bad[i], 2, 1.0));
    static const double weights[4] = {0.0, -1.0, NAN, INFINITY};
    for (int i = 0; i < 4; i++)
        assert_nan(spec_evalue_dirichlet(some, some, (double[2]){0.5, 0.5}, 2, weights[i]));
    assert_nan(spec_evalue_event(2, 1, 0.3, 0.1));
    assert_nan(spec_evalue_event(1, 2, 1.3, 0.1));
    assert_nan(spec_evalue_event(1, 2, -0.1, 0.1));
    assert_nan(spec_evalue_event(1, 2, 0.25, 4.0));
    assert_nan(spec_evalue_event(1, 2, 0.25, -4.0 / 3.0));
    assert_nan(spec_evalue_mean(NULL, 0));
    assert_nan(spec_evalue_mean((double[2]){1.0, NAN}, 2));
    assert_nan(spec_evalue_p(NAN));
}

/* The probability of the next event depends on the last one. Every sequence is weighted by its
 * probability. */
TEST(bets_on_events_of_changing_chances_are_fair)
{
    enum { N = 12 };
    static const double chances[4][2] = {{0.99, 0.995}, {0.01, 0.02}, {0.5, 0.9}, {0.999, 0.2}};
    for (int c = 0; c < 4; c++) {
        double mean = 0.0;
        for (unsigned s = 0; s < 1u << N; s++) {
            double all = 1.0, excess = 0.0, variance = 0.0;
            for (int i = 0, last = 0; i < N; i++) {
                const int hit = (int)(s >> i & 1);
                const double p = chances[c][last];
                all *= hit ? p : 1.0 - p;
                excess += hit - p;
                variance += p * (1.0 - p);
                last = hit;
            }
            mean += all * exp(spec_evalue_events(excess, variance));
        }
        assert_true(mean <= 1.0 && mean > 0.5);
    }
}

/* Three rejections where 0.27 are expected are 5.3 standard errors, but have probability .003. With
 * many tokens, 7 are evidence. */
TEST(few_almost_certain_events_are_no_evidence)
{
    const double three = spec_evalue_events(-2.73, 0.27);
    assert_true(three > 0.0 && three < 5.8);
    assert_true(spec_evalue_events(7.0 * sqrt(210.0), 210.0) > 14.4);
    assert_true(spec_evalue_events(-7.0 * sqrt(210.0), 210.0) > 14.4);
    assert_true(spec_evalue_events(0.0, 210.0) < 0.0);
    assert_nan(spec_evalue_events(NAN, 1.0));
    assert_nan(spec_evalue_events(1.0, -1.0));
}
