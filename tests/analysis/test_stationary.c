/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/stationary.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_linalg.h>
#include <stdio.h>
#include <stdlib.h>

/* Varied entries without a generator: fractions of multiples of the golden ratio. */
static double fraction(int i)
{
    double x = 0.6180339887498949 * (i + 1);
    return x - floor(x);
}

static void fill_stochastic(double *matrix, int S, int salt)
{
    for (int s = 0; s < S; s++) {
        double sum = 0.0;
        for (int t = 0; t < S; t++)
            sum += matrix[s * S + t] = 0.01 + fraction(salt + 7 * s * S + 3 * t);
        for (int t = 0; t < S; t++) matrix[s * S + t] /= sum;
    }
}

TEST(two_states_by_hand)
{
    double law[2];
    assert_int_equal(spec_stationary_law(law, (double[]){0.73, 0.27, 0.1, 0.9}, 2), GSL_SUCCESS);
    assert_near(law[0], 0.1 / 0.37, 1e-15);
    assert_near(law[1], 0.27 / 0.37, 1e-15);
    assert_int_equal(spec_stationary_law(law, (double[]){1.0}, 1), GSL_SUCCESS);
    assert_same(law[0], 1.0);
    /* a chain that alternates has a stationary law too, although powers of the matrix do not
     * converge */
    assert_int_equal(spec_stationary_law(law, (double[]){0.0, 1.0, 1.0, 0.0}, 2), GSL_SUCCESS);
    assert_same(law[0], 0.5);
    assert_same(law[1], 0.5);
}

/* Second route: LU of (matrix' - 1) with the last equation replaced by sum = 1. */
TEST(law_solves_the_linear_system)
{
    for (int S = 1; S <= 12; S++) {
        double matrix[144], law[12];
        fill_stochastic(matrix, S, S);
        assert_int_equal(spec_stationary_law(law, matrix, S), GSL_SUCCESS);
        gsl_matrix *system = gsl_matrix_alloc((size_t)S, (size_t)S);
        gsl_vector *right = gsl_vector_calloc((size_t)S), *solution = gsl_vector_alloc((size_t)S);
        gsl_permutation *permutation = gsl_permutation_alloc((size_t)S);
        for (int i = 0; i < S; i++) {
            for (int j = 0; j < S; j++) {
                gsl_matrix_set(system, (size_t)i, (size_t)j,
                               i == S - 1 ? 1.0 : matrix[j * S + i] - (i == j));
            }
        }
        gsl_vector_set(right, (size_t)S - 1, 1.0);
        int sign;
        gsl_linalg_LU_decomp(system, permutation, &sign);
        gsl_linalg_LU_solve(system, permutation, right, solution);
        double total = 0.0;
        for (int s = 0; s < S; s++) {
            assert_near(law[s], gsl_vector_get(solution, (size_t)s), 1e-12);
            total += law[s];
        }
        assert_near(total, 1.0, 1e-15);
        gsl_matrix_free(system);
        gsl_vector_free(right);
        gsl_vector_free(solution);
        gsl_permutation_free(permutation);
    }
}

/* A birth and death chain, whose law is a product of ratios: 1e-12 up and 1 - 1e-12 down, so the
 * last state has 1e-36. */
TEST(small_probabilities_keep_their_digits)
{
    double up = 1e-12, down = 1.0 - 1e-12, law[4];
    double matrix[16] = {down, up, 0, 0, down, 0, up, 0, 0, down, 0, up, 0, 0, down, up};
    assert_int_equal(spec_stationary_law(law, matrix, 4), GSL_SUCCESS);
    for (int s = 1; s < 4; s++) assert_near(law[s] / law[s - 1], up / down, 1e-14);
    double other[16] = {up, down, 0, 0, up, 0, down, 0, 0, up, 0, down, 0, 0, up, down};
    assert_int_equal(spec_stationary_law(law, other, 4), GSL_SUCCESS);
    for (int s = 1; s < 4; s++) assert_near(law[s] / law[s - 1], down / up, 1e-14);
}

/* Wherever the transient states are, the class that is never left has all probability, and the
 * others have exactly 0. */
TEST(states_that_are_left_for_good_have_probability_0)
{
    static const int places[6][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2},
                                     {2, 0, 3, 1}, {0, 3, 1, 2}, {2, 3, 0, 1}};
    for (int p = 0; p < 6; p++) {
        /* in the first order, 0 and 1 lead to each other and on to the class {2, 3} */
        double plain[16] = {0.2, 0.5, 0.3, 0, 0.6, 0.1, 0, 0.3, 0, 0, 0.73, 0.27, 0, 0, 0.1, 0.9},
               matrix[16], law[4];
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) matrix[places[p][i] * 4 + places[p][j]] = plain[i * 4 + j];
        }
        assert_int_equal(spec_stationary_law(law, matrix, 4), GSL_SUCCESS);
        assert_same(law[places[p][0]], 0.0);
        assert_same(law[places[p][1]], 0.0);
        assert_near(law[places[p][2]], 0.1 / 0.37, 1e-15);
        assert_near(law[places[p][3]], 0.27 / 0.37, 1e-15);
    }
    double law[3]; /* one state absorbs */
    for (int where = 0; where < 3; where++) {
        double matrix[9] = {0};
        for (int s = 0; s < 3; s++) {
            matrix[s * 3 + (s == where ? s : (s + 1) % 3)] += 0.5;
            matrix[s * 3 + where] += 0.5;
        }
        assert_int_equal(spec_stationary_law(law, matrix, 3), GSL_SUCCESS);
        for (int s = 0; s < 3; s++) assert_same(law[s], s == where ? 1.0 : 0.0);
    }
}

TEST(two_classes_that_are_never_left_are_singular)
{
    double law[4] = {7, 7, 7, 7};
    assert_int_equal(spec_stationary_law(law, (double[]){1, 0, 0, 1}, 2), GSL_ESING);
    assert_same(law[0], 0.0);
    assert_same(law[1], 0.0);
    double split[16] = {0.5, 0.5, 0, 0, 0.27, 0.73, 0, 0, 0, 0, 0.1, 0.9, 0, 0, 0.6, 0.4};
    assert_int_equal(spec_stationary_law(law, split, 4), GSL_ESING);
    for (int s = 0; s < 4; s++) assert_same(law[s], 0.0);
    double choice[9] = {0.3, 0.3, 0.4, 0, 1, 0, 0, 0, 1}; /* 0 ends in 1 or in 2 */
    assert_int_equal(spec_stationary_law(law, choice, 3), GSL_ESING);
    double choice_last[9] = {1, 0, 0, 0, 1, 0, 0.3, 0.3, 0.4};
    assert_int_equal(spec_stationary_law(law, choice_last, 3), GSL_ESING);
    /* decided by the structure, not by rounding: even the weakest link makes the law unique */
    double linked[4] = {1.0, 1e-300, 0.0, 1.0};
    assert_int_equal(spec_stationary_law(law, linked, 2), GSL_SUCCESS);
    assert_same(law[0], 0.0);
    assert_same(law[1], 1.0);
    /* and a ratio of probabilities beyond the range of double is an error */
    double beyond[4] = {1.0, 0.9, 1e-310, 1.0};
    beyond[0] = 0.1;
    assert_int_equal(spec_stationary_law(law, beyond, 2), GSL_ESING);
    assert_same(law[0], 0.0);
    assert_same(law[1], 0.0);
}

TEST(what_is_no_stochastic_matrix_is_refused)
{
    double law[2] = {7, 7};
    assert_int_equal(spec_stationary_law(law, (double[]){0.5, 0.4, 0.5, 0.5}, 2), GSL_EDOM);
    assert_same(law[0], 0.0);
    assert_same(law[1], 0.0);
    assert_int_equal(spec_stationary_law(law, (double[]){0.5, 0.5, 0.5, 0.5 + 2e-9}, 2), GSL_EDOM);
    assert_int_equal(spec_stationary_law(law, (double[]){0.5, 0.5, 0.5, 0.5 + 5e-10}, 2),
                     GSL_SUCCESS);
    assert_int_equal(spec_stationary_law(law, (double[]){1.5, -0.5, 0.5, 0.5}, 2), GSL_EDOM);
    assert_int_equal(spec_stationary_law(law, (double[]){NAN, 0.5, 0.5, 0.5}, 2), GSL_EDOM);
    assert_int_equal(spec_stationary_law(law, (double[]){0.0}, 1), GSL_EDOM);
    assert_int_equal(spec_stationary_law(law, NULL, 0), GSL_EDOM);
}

TEST(many_states)
{
    enum { S = 400 };
    double *matrix = calloc((size_t)S * S, sizeof *matrix), *law = calloc(S, sizeof *law);
    fill_stochastic(matrix, S, 5);
    assert_int_equal(spec_stationary_law(law, matrix, S), GSL_SUCCESS);
    for (int t = 0; t < S; t++) {
        double next = 0.0;
        for (int s = 0; s < S; s++) next += law[s] * matrix[s * S + t];
        assert_near(next, law[t], 1e-13);
    }
    free(matrix);
    free(law);
}
