/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/finite_length.h"

#include "analysis/capped_geometric.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <string.h>

static void capped_geometric_law(double *law, double alpha, int K)
{
    for (int k = 0; k <= K; k++) law[k] = spec_capped_geometric_probability(alpha, K, k);
}

/* tests/oracle/closed.py, lines "steps exact ... renewal ...". */
TEST(known_answers_of_the_oracle)
{
    static const struct {
        double alpha;
        int K, L;
        const char *exact, *renewal, *naive;
    } rows[] = {{0.8, 5, 50, "14.059205", "14.059202", "13.5528"},
                {0.8, 5, 128, "35.201539", "35.201539", "34.6951"},
                {0.6, 3, 50, "23.393572", "23.393572", "22.9779"},
                {0.6, 3, 128, "59.239160", "59.239160", "58.8235"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double law[6], work[129], alpha = rows[i].alpha;
        int K = rows[i].K, L = rows[i].L;
        capped_geometric_law(law, alpha, K);
        double mean = spec_capped_geometric_mean(alpha, K),
               variance = spec_capped_geometric_variance(alpha, K);
        double exact = spec_finite_length_rounds(law, K + 1, L, work);
        double renewal = spec_finite_length_rounds_renewal(mean, variance, L);
        assert_prints(exact, 6, rows[i].exact);
        assert_prints(renewal, 6, rows[i].renewal);
        assert_within(exact, renewal, L > 100 ? 1e-9 : 5e-6);
        assert_prints(L / mean, 4, rows[i].naive);
    }
}

/* Second route, without the recursion: E[rounds] = sum over r >= 0 of P(fewer than L tokens after r
 * rounds), by convolving laws. */
TEST(exact_mean_is_the_sum_of_survival_chances)
{
    static const double law[] = {0.27, 0.0, 0.385, 0.1, 0.245};
    enum { N = 5, LENGTH = 37 };
    double work[LENGTH + 1];
    for (int L = 0; L <= LENGTH; L++) {
        double at[LENGTH + 1] = {1.0},
                           expected = 0.0; /* at[t]: chance of exactly t < L tokens so far */
        for (int r = 0; r < L; r++) {
            double next[LENGTH + 1] = {0.0};
            for (int t = 0; t < L; t++) {
                expected += at[t];
                for (int j = 1; j <= N && t + j < L; j++) next[t + j] += at[t] * law[j - 1];
            }
            memcpy(at, next, sizeof at);
        }
        assert_near(spec_finite_length_rounds(law, N, L, work), expected, 1e-14);
        assert_same(work[L], spec_finite_length_rounds(law, N, L, work));
    }
}

TEST(one_token_per_round_needs_L_rounds)
{
    double law[4] = {1.0, 0.0, 0.0, 0.0}, work[12];
    for (int L = 0; L < 12; L++) {
        assert_same(spec_finite_length_rounds(law, 1, L, work), L);
        assert_same(spec_finite_length_rounds(law, 4, L, work), L);
        assert_same(work[0], 0.0);
    }
    assert_near(spec_finite_length_rounds_renewal(1.0, 0.0, 7.0), 7.0, 1e-15);
    assert_same(spec_finite_length_rounds_renewal(1.0, 0.0, 1.0), 1.0);
}

/* docs/formulas/lengths.md#finite-length has this range. */
TEST(the_excess_is_a_third_to_two_thirds_of_a_round)
{
    double least = INFINITY, most = 0.0;
    for (int i = 500; i <= 900; i++)
        for (int K = 2; K <= 10; K++) {
            const double mean = spec_capped_geometric_mean(i / 1000.0, K),
                         variance = spec_capped_geometric_variance(i / 1000.0, K),
                         rounds = spec_finite_length_rounds_renewal(mean, variance, 100),
                         excess = rounds - 100 / mean;
            least = fmin(least, excess);
            most = fmax(most, excess);
        }
    assert_prints(least, 4, "0.3265");
    assert_prints(most, 4, "0.6565");
}

/* At alpha = 1 every round adds 4 tokens: the exact mean is the ceiling, and the renewal formula is
 * its average over four lengths. */
TEST(full_rounds_need_the_ceiling)
{
    double law[4] = {0.0, 0.0, 0.0, 1.0}, work[24], gap = 0.0;
    for (int L = 1; L < 24; L++)
        assert_same(spec_finite_length_rounds(law, 4, L, work), (L + 3) / 4);
    for (int L = 9; L < 13; L++)
        gap += spec_finite_length_rounds_renewal(4.0, 0.0, L) - (L + 3) / 4;
    assert_within(gap, 0.0, 1e-13);
}

TEST(renewal_formula_itself)
{
    double mean = 2.385, variance = 0.27;
    assert_near(spec_finite_length_rounds_renewal(mean, variance, 11.0),
                10.0 / mean + (variance + mean * mean + mean) / (2.0 * mean * mean), 1e-15);
}

TEST(outside_the_domain_is_nan)
{
    double law[3] = {0.27, 0.5, 0.23}, work[8];
    assert_nan(spec_finite_length_rounds(law, 0, 7, work));
    assert_nan(spec_finite_length_rounds(law, 3, -1, work));
    assert_nan(spec_finite_length_rounds(law, 2, 7, work));
    assert_nan(spec_finite_length_rounds((double[]){0.5, 0.5 + 2e-9}, 2, 7, work));
    double even = spec_finite_length_rounds((double[]){0.5, 0.5}, 2, 7, work);
    assert_near(spec_finite_length_rounds((double[]){0.5, 0.5 + 5e-10}, 2, 7, work), even, 1e-8);
    assert_nan(spec_finite_length_rounds((double[]){1.5, -0.5}, 2, 7, work));
    assert_nan(spec_finite_length_rounds((double[]){NAN, 1.0}, 2, 7, work));
    assert_nan(spec_finite_length_rounds_renewal(0.999, 0.27, 7.0));
    assert_nan(spec_finite_length_rounds_renewal(2.385, -1e-9, 7.0));
    assert_nan(spec_finite_length_rounds_renewal(2.385, 0.27, 0.999));
    assert_nan(spec_finite_length_rounds_renewal(NAN, 0.27, 7.0));
    assert_nan(spec_finite_length_rounds_renewal(2.385, NAN, 7.0));
    assert_nan(spec_finite_length_rounds_renewal(2.385, 0.27, NAN));
}
