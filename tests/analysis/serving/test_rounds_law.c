/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/rounds_law.h"

#include "analysis/capped_geometric.h"
#include "analysis/finite_length.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

enum { LENGTH = 7, M = 3 };

/* Second route: enumerates all sequences of rounds. */
typedef struct {
    const double *round, *tail;
    double stay;
    double longer[LENGTH + 1], tokens[LENGTH + 1], tokens2[LENGTH + 1];
} enumeration;

static void walk(enumeration *e, int rounds, int sum, int last, double chance)
{
    if (sum >= LENGTH) return;
    e->longer[rounds] += chance * e->tail[sum];
    e->tokens[rounds] += chance * e->tail[sum] * sum;
    e->tokens2[rounds] += chance * e->tail[sum] * sum * sum;
    for (int i = 1; i <= M; i++) {
        const double stay = rounds > 0 ? e->stay : 0.0;
        const double next = (1.0 - stay) * e->round[i - 1] + (i == last ? stay : 0.0);
        walk(e, rounds + 1, sum + i, i, chance * next);
    }
}

TEST(every_array_is_the_sum_over_sequences_of_rounds)
{
    static const double round[M] = {0.27, 0.385, 0.345};
    static const double one_length[LENGTH] = {1, 1, 1, 1, 1, 1, 1};
    static const double lengths[LENGTH] = {0.93, 0.93, 0.7, 0.41, 0.41, 0.2, 0.06};
    for (int varied = 0; varied < 2; varied++)
        for (int s = 0; s < 3; s++) {
            enumeration e = {.round = round,
                             .tail = varied ? lengths : one_length,
                             .stay = (const double[]){0.0, 0.43, 1.0}[s]};
            walk(&e, 0, 0, 0, 1.0);
            OWNED(spec_rounds_law) law;
            assert_int_equal(spec_rounds_law_init(&law, LENGTH + 1), GSL_SUCCESS);
            for (int half = 0; half < 2; half++)
                assert_int_equal(spec_rounds_law_add(&law, half ? 0.3 : 0.7, round, M, e.stay,
                                                     varied ? lengths : NULL, LENGTH),
                                 GSL_SUCCESS);
            double mean = 0.0, square = 0.0, contexts = 0.0;
            for (int j = 0; j <= LENGTH; j++) {
                assert_within(law.longer[j], e.longer[j], 1e-15);
                assert_within(law.tokens[j], e.tokens[j], 1e-14);
                assert_within(law.tokens2[j], e.tokens2[j], 1e-13);
                const double next = j < LENGTH ? e.longer[j + 1] : 0.0;
                mean += (j + 1) * (e.longer[j] - next);
                square += (j + 1) * (j + 1) * (e.longer[j] - next);
                contexts += e.tokens[j];
            }
            assert_near(spec_rounds_law_mean(&law), mean, 1e-14);
            assert_near(spec_rounds_law_square(&law), square, 1e-14);
            assert_near(spec_rounds_law_contexts(&law), contexts, 1e-14);
        }
}

TEST(mean_is_that_of_finite_length)
{
    for (int K = 0; K <= 6; K += 2)
        for (int a = 0; a <= 10; a++) {
            const double alpha = a / 10.0;
            double round[7], work[257];
            for (int k = 0; k <= K; k++) round[k] = spec_capped_geometric_probability(alpha, K, k);
            OWNED(spec_rounds_law) law;
            assert_int_equal(spec_rounds_law_init(&law, 256), GSL_SUCCESS);
            assert_int_equal(spec_rounds_law_add_alpha(&law, 1.0, alpha, K, 0.0, NULL, 256),
                             GSL_SUCCESS);
            assert_near(spec_rounds_law_mean(&law),
                        spec_finite_length_rounds(round, K + 1, 256, work), 1e-13);
            if (K == 0) assert_near(spec_rounds_law_contexts(&law), 255.0 * 128.0, 1e-14);
        }
}

/* If rounds repeat, the mean of a round stays the same, and the variance of N is larger. */
TEST(repeated_rounds_spread_the_law)
{
    double mean[3], variance[3];
    for (int s = 0; s < 3; s++) {
        OWNED(spec_rounds_law) law;
        assert_int_equal(spec_rounds_law_init(&law, 300), GSL_SUCCESS);
        assert_int_equal(spec_rounds_law_add_alpha(&law, 1.0, 0.7, 3, 0.4 * s, NULL, 300),
                         GSL_SUCCESS);
        mean[s] = spec_rounds_law_mean(&law);
        variance[s] = spec_rounds_law_square(&law) - mean[s] * mean[s];
    }
    assert_near(mean[1], mean[0], 0.01);
    /* For long texts the variance grows by (1 + stay) / (1 - stay). */
    assert_near(variance[1] / variance[0], 1.4 / 0.6, 0.02);
    assert_near(variance[2] / variance[0], 1.8 / 0.2, 0.06);
}

static double variance_of(double stay, const double *opt_tail, int L)
{
    OWNED(spec_rounds_law) law;
    assert_int_equal(spec_rounds_law_init(&law, L), GSL_SUCCESS);
    assert_int_equal(spec_rounds_law_add_alpha(&law, 1.0, 0.8, 3, stay, opt_tail, L), GSL_SUCCESS);
    const double mean = spec_rounds_law_mean(&law), square = spec_rounds_law_square(&law);
    return square - mean * mean;
}

/* If lengths differ, the variance of N comes mostly from them. */
TEST(repeated_rounds_spread_lengths_that_differ_hardly)
{
    static double tail[4000];
    for (int s = 0; s < 4000; s++) tail[s] = pow(1.0 - 1.0 / 200.0, s);
    assert_prints(variance_of(0.5, NULL, 200) / variance_of(0.0, NULL, 200), 2, "2.97");
    assert_prints(variance_of(0.5, tail, 4000) / variance_of(0.0, tail, 4000), 3, "1.005");
}

TEST(first_token_of_the_prefill_shifts_the_lengths)
{
    static const double tail[4] = {1.0, 0.6, 0.35, 0.1};
    OWNED(spec_rounds_law) law;
    assert_int_equal(spec_rounds_law_init(&law, 3), GSL_SUCCESS);
    assert_int_equal(spec_rounds_law_add_alpha(&law, 1.0, 0.0, 2, 0.0, tail + 1, 3), GSL_SUCCESS);
    assert_near(spec_rounds_law_mean(&law), 0.6 + 0.35 + 0.1, 1e-15);
}

TEST(outside_the_domain_nothing_changes)
{
    spec_rounds_law law;
    assert_int_equal(spec_rounds_law_init(&law, -1), GSL_EDOM);
    assert_null(law.longer);
    assert_int_equal(spec_rounds_law_init(&law, 4), GSL_SUCCESS);
    const double round[2] = {0.27, 0.73}, wrong[2] = {0.27, 0.7}, rising[3] = {0.5, 0.6, 0.1};
    assert_int_equal(spec_rounds_law_add(&law, 1.1, round, 2, 0.0, NULL, 4), GSL_EDOM);
    assert_int_equal(spec_rounds_law_add(&law, NAN, round, 2, 0.0, NULL, 4), GSL_EDOM);
    assert_int_equal(spec_rounds_law_add(&law, 1.0, wrong, 2, 0.0, NULL, 4), GSL_EDOM);
    assert_int_equal(spec_rounds_law_add(&law, 1.0, round, 2, -0.1, NULL, 4), GSL_EDOM);
    assert_int_equal(spec_rounds_law_add(&law, 1.0, round, 2, 0.0, NULL, 5), GSL_EDOM);
    assert_int_equal(spec_rounds_law_add(&law, 1.0, round, 2, 0.0, NULL, -1), GSL_EDOM);
    assert_int_equal(spec_rounds_law_add(&law, 1.0, round, 2, 0.0, rising, 3), GSL_EDOM);
    assert_int_equal(spec_rounds_law_add_alpha(&law, 1.0, 1.01, 2, 0.0, NULL, 4), GSL_EDOM);
    assert_int_equal(spec_rounds_law_add_alpha(&law, 1.0, 0.5, -1, 0.0, NULL, 4), GSL_EDOM);
    assert_same(spec_rounds_law_mean(&law), 0.0);
    assert_int_equal(spec_rounds_law_add(&law, 1.0, round, 2, 0.0, NULL, 0), GSL_SUCCESS);
    assert_same(spec_rounds_law_mean(&law), 0.0);
    spec_rounds_law_free(&law);
    spec_rounds_law_free(&law);
}
