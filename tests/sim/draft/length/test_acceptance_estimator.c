/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/length/acceptance_estimator.h"

#include "base/noise.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_linalg.h>

enum { PLACES = 5, ROUNDS = 700 };

typedef struct {
    double feature[ROUNDS];
    int verified[ROUNDS], accepted[ROUNDS];
} rounds;

static double uniform(uint64_t key, uint64_t i)
{
    return (double)(spec_noise_word(key, i) >> 11) * 0x1p-53;
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* Draws rounds of a draft whose token at position k is accepted with probability sigmoid(weight
 * feature + bias - 0.1 k). */
static rounds rounds_of(uint64_t seed, double weight, double bias)
{
    rounds data;
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t key = spec_noise_mix(seed * 1000003 + (uint64_t)i);
        data.feature[i] = 6.0 * uniform(key, 0) - 2.0;
        data.verified[i] = (int)(uniform(key, 1) * (PLACES + 1));
        int n = 0;
        while (n < data.verified[i] &&
               uniform(key, 2 + (uint64_t)n) < sigmoid(weight * data.feature[i] + bias - 0.1 * n))
            n++;
        data.accepted[i] = n;
    }
    return data;
}

static void add(spec_acceptance_estimator *estimator, const rounds *data)
{
    for (int i = 0; i < ROUNDS; i++)
        spec_acceptance_estimator_add(estimator, data->feature[i], data->verified[i],
                                      data->accepted[i]);
}

/* Makes a Newton step of the whole system by a dense solve: (weight, biases) at `at`. */
static void dense_step(double ret[PLACES + 1], double ret_n[PLACES], const double at[PLACES + 1],
                       const rounds *data, double ridge)
{
    double matrix[(PLACES + 1) * (PLACES + 1)] = {0.0}, score[PLACES + 1] = {0.0};
    for (int k = 0; k < PLACES; k++) ret_n[k] = 0.0;
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < data->verified[i] && k <= data->accepted[i]; k++) {
            const double x[2] = {data->feature[i], 1.0};
            const int row[2] = {0, k + 1};
            const double p = sigmoid(at[0] * x[0] + at[k + 1]);
            for (int a = 0; a < 2; a++) {
                score[row[a]] += ((k < data->accepted[i]) - p) * x[a];
                for (int b = 0; b < 2; b++)
                    matrix[row[a] * (PLACES + 1) + row[b]] += p * (1.0 - p) * x[a] * x[b];
            }
            ret_n[k] += 1.0;
        }
    }
    for (int k = 0; k <= PLACES; k++) matrix[k * (PLACES + 2)] += ridge;
    gsl_matrix_view m = gsl_matrix_view_array(matrix, PLACES + 1, PLACES + 1);
    gsl_vector_view s = gsl_vector_view_array(score, PLACES + 1),
                    x = gsl_vector_view_array(ret, PLACES + 1);
    assert_int_equal(gsl_linalg_cholesky_decomp1(&m.matrix), 0);
    assert_int_equal(gsl_linalg_cholesky_solve(&m.matrix, &s.vector, &x.vector), 0);
}

/* The weight takes its share of the dense step. A bias takes its share of the best step given the
 * weight's: the dense one, plus the coupling to the part of the step that the weight left out. */
TEST(a_fit_is_the_damped_step_of_a_dense_solve)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const rounds data = rounds_of(seed, 1.3, 0.4);
        spec_acceptance_estimator estimator;
        double at[PLACES + 1], step[PLACES + 1], n[PLACES], total = 0.0;
        spec_acceptance_estimator_init(&estimator, PLACES);
        at[0] = 0.5;
        for (int k = 0; k < PLACES; k++) at[k + 1] = -0.2;
        dense_step(step, n, at, &data, 1e-3);
        add(&estimator, &data);
        const spec_acceptance_estimator sums = estimator;
        spec_acceptance_estimator_fit(&estimator);
        for (int k = 0; k < PLACES; k++) total += n[k];
        const double taken = step[0] * total / (total + 50.0);
        assert_near(estimator.weight, 0.5 + taken, 1e-12);
        for (int k = 0; k < PLACES; k++) {
            const double coupled = sums.weight_bias[k] / (sums.bias_bias[k] + 1e-3);
            const double wanted = step[k + 1] + coupled * (step[0] - taken);
            assert_near(estimator.bias[k], -0.2 + wanted * n[k] / (n[k] + 50.0), 1e-11);
        }
    }
}

/* Fits to one set of rounds reach the maximum of its likelihood from any start. */
TEST(fits_converge_to_the_logistic_maximum)
{
    const rounds data = rounds_of(7, 1.3, 0.4);
    double at[PLACES + 1] = {0.0}, step[PLACES + 1], n[PLACES];
    for (int i = 0; i < 50; i++) {
        dense_step(step, n, at, &data, 0.0);
        for (int k = 0; k <= PLACES; k++) at[k] += step[k];
    }
    spec_acceptance_estimator estimator;
    spec_acceptance_estimator_init(&estimator, PLACES);
    for (int i = 0; i < 200; i++) {
        add(&estimator, &data);
        spec_acceptance_estimator_fit(&estimator);
    }
    assert_near(estimator.weight, at[0], 1e-9);
    for (int k = 0; k < PLACES; k++) assert_near(estimator.bias[k], at[k + 1], 1e-9);
}

TEST(fresh_rounds_lead_to_their_law)
{
    spec_acceptance_estimator estimator;
    spec_acceptance_estimator_init(&estimator, PLACES);
    double weight = 0.0, bias[PLACES] = {0.0};
    for (uint64_t i = 0; i < 60; i++) {
        const rounds data = rounds_of(100 + i, 0.5, 0.2);
        add(&estimator, &data);
        spec_acceptance_estimator_fit(&estimator);
        if (i < 20) continue;
        weight += estimator.weight / 40.0;
        for (int k = 0; k < PLACES; k++) bias[k] += estimator.bias[k] / 40.0;
    }
    assert_within(weight, 0.5, 0.03);
    for (int k = 0; k < 3; k++) assert_within(bias[k], 0.2 - 0.1 * k, 0.1); /* few get deeper */
}

TEST(without_rounds_nothing_moves_and_weights_stay_positive)
{
    spec_acceptance_estimator estimator;
    spec_acceptance_estimator_init(&estimator, 2);
    spec_acceptance_estimator_fit(&estimator);
    assert_same(estimator.weight, 0.5);
    assert_same(estimator.bias[1], -0.2);
    for (int i = 0; i < 1000; i++) { /* the larger the feature, the rarer is acceptance */
        spec_acceptance_estimator_add(&estimator, 2.0, 2, 0);
        spec_acceptance_estimator_add(&estimator, -2.0, 2, 2);
    }
    spec_acceptance_estimator_fit(&estimator);
    assert_same(estimator.weight, 0.5);
}
