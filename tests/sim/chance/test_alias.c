/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/alias.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <float.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

enum { V = 32000 };

static double *zipf_weights(int n, double s)
{
    double *weight = malloc((size_t)n * sizeof *weight);
    assert_non_null(weight);
    for (int i = 0; i < n; i++) weight[i] = pow(i + 1, -s);
    return weight;
}

static void assert_table_has_law(const double *weight, int n, int step)
{
    OWNED(spec_alias) alias;
    assert_works(spec_alias_init(&alias, weight, n, &error));
    long double sum = 0;
    for (int i = 0; i < n; i++) sum += weight[i];
    for (int i = 0; i < n; i += step) {
        double expected = (double)(weight[i] / sum), found = spec_alias_probability(&alias, i);
        if (fabs(found - expected) > 1e-15)
            fail_msg("token %d: %.17g, not %.17g", i, found, expected);
        if (weight[i] == 0 && found != 0)
            fail_msg("token %d of weight zero has probability %g", i, found);
    }
}

TEST(table_probabilities_are_the_normalised_weights)
{
    double *zipf = zipf_weights(V, 1.1);
    assert_table_has_law(zipf, V, 997);
    assert_table_has_law(zipf, 1000, 1);
    free(zipf);

    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 0);
    double exponential[999];
    for (int i = 0; i < 999; i++)
        exponential[i] = -log1p(-spec_rng_next_double(&rng)); /* a flat Dirichlet row */
    assert_table_has_law(exponential, 999, 1);
    for (int i = 0; i < 999; i++)
        exponential[i] = pow(exponential[i], 20); /* few tokens hold nearly all probability */
    assert_table_has_law(exponential, 999, 1);
}

TEST(odd_weights_are_normalised_too)
{
    assert_table_has_law((double[]){0.27}, 1, 1);
    assert_table_has_law((double[]){0, 0.27, 0, 2.385, 0}, 5, 1);
    assert_table_has_law((double[]){0, 0, 1e-300}, 3, 1);
    assert_table_has_law((double[]){1e-300, 2.385, 1e-20, 0.27}, 4, 1);
    assert_table_has_law((double[]){0.1, 0.2, 0.3, 0.1, 0.2, 0.1}, 6, 1);

    /* Sums that overflow or are subnormal: only the ratios matter. */
    OWNED(spec_alias) alias;
    assert_int_equal(spec_alias_init(&alias, (double[]){DBL_MAX, DBL_MAX, DBL_MAX / 2}, 3, NULL),
                     GSL_SUCCESS);
    assert_within(spec_alias_probability(&alias, 2), 0.2, 1e-15);
    spec_alias_free(&alias);
    double tiny = 5e-324; /* the smallest double */
    assert_int_equal(spec_alias_init(&alias, (double[]){3 * tiny, tiny}, 2, NULL), GSL_SUCCESS);
    assert_within(spec_alias_probability(&alias, 1), 0.25, 1e-15);
}

/* Every column is full, and every token has its exact share: the sums are in integers, so the only
 * tolerance is that of the weights. */
TEST(columns_name_no_token_of_weight_zero)
{
    FREED double *weight = zipf_weights(V, 1.3);
    for (int i = 0; i < V; i += 3) weight[i] = 0;
    OWNED(spec_alias) alias;
    assert_int_equal(spec_alias_init(&alias, weight, V, NULL), GSL_SUCCESS);
    for (int j = 0; j < V; j++) {
        const struct spec_alias_column *column = &alias.column[j];
        assert_true(weight[column->other] > 0);
        if (weight[column->own] == 0) assert_int_equal(column->keep, 0);
    }
}

/* 500,000 draws over 50 tokens. A draw that took the other side of a column has a law whose
 * distance from the weights, sum (difference^2 / law), is above 0.1: a statistic of 50,000 at 49
 * degrees of freedom. If fractions were cut to 8 bits, that distance would be about 1e-5, which
 * only the exact test above finds. */
TEST(draws_follow_the_weights, STATISTICS)
{
    enum { N = 50 };
    double *weight = zipf_weights(N, 0.7), sum = 0;
    weight[7] = 0;
    for (int i = 0; i < N; i++) sum += weight[i];
    spec_alias alias;
    assert_int_equal(spec_alias_init(&alias, weight, N, NULL), GSL_SUCCESS);

    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 1);
    uint64_t samples = spec_test_samples(500000), count[N] = {0};
    for (uint64_t i = 0; i < samples; i++) count[spec_alias_draw(&alias, &rng)]++;
    double statistic = 0;
    for (int i = 0; i < N; i++) {
        double expected = (double)samples * weight[i] / sum;
        if (i == 7) assert_int_equal(count[i], 0);
        else statistic += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
    }
    assert_true(gsl_cdf_chisq_Q(statistic, N - 2) > SPEC_TEST_P);
    spec_alias_free(&alias);
    free(weight);
}

/* The column comes from the high half of word * n, and the side from the low half: computed by hand
 * from the same words. */
TEST(a_draw_takes_one_word)
{
    FREED double *weight = zipf_weights(1000, 1.0);
    OWNED(spec_alias) alias;
    assert_int_equal(spec_alias_init(&alias, weight, 1000, NULL), GSL_SUCCESS);
    spec_rng_state rng = spec_rng_stream_state(3, 0), same = rng;
    for (int i = 0; i < 1000; i++) {
        uint64_t word = spec_rng_next(&same);
        spec_u128 product = (spec_u128)word * 1000;
        const struct spec_alias_column *column = &alias.column[product >> 64];
        uint32_t expected = (uint64_t)product < column->keep ? column->own : column->other;
        assert_int_equal(spec_alias_draw(&alias, &rng), expected);
    }
}

/* The generator's output is 0 if the high half of its state is: then column 0, fraction 0, and only
 * `<` prevents a token of weight zero. */
TEST(the_word_zero_draws_no_token_of_weight_zero)
{
    OWNED(spec_alias) alias;
    spec_rng_state rng, same;
    assert_int_equal(spec_alias_init(&alias, (double[]){0, 0.27, 0.73}, 3, NULL), GSL_SUCCESS);
    spec_rng_set_raw(&rng, 12345, 1);
    same = rng;
    assert_int_equal(spec_rng_next(&same), 0);
    assert_int_not_equal(spec_alias_draw(&alias, &rng), 0);
}

TEST(bad_weights_are_refused_by_name)
{
    OWNED(spec_alias) alias;
    assert_fails(spec_alias_init(&alias, (double[]){0.27, NAN}, 2, &error), GSL_EDOM,
                 "weight 1 is nan: weights must be finite and not negative");
    assert_null(alias.column);
    assert_fails(spec_alias_init(&alias, (double[]){-0.27, 1}, 2, &error), GSL_EDOM,
                 "weight 0 is -0.27: weights must be finite and not negative");
    assert_status(spec_alias_init(&alias, (double[]){1, INFINITY}, 2, &error), GSL_EDOM);
    assert_fails(spec_alias_init(&alias, (double[]){0, 0, 0}, 3, &error), GSL_EDOM,
                 "all 3 weights are zero");
    assert_status(spec_alias_init(&alias, NULL, 0, &error), GSL_EINVAL);
    assert_int_equal(alias.n, 0);
}
