/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/models/open_model.h"
#include "tests/support/support.h"

#include <gsl/gsl_linalg.h>

TEST(rows_are_the_tables_own_and_normalised)
{
    static const char *const specs[] = {"markov",
                                        "markov?V=1&order=2",
                                        "markov?V=7&order=2&concentration=0.05",
                                        "markov?V=27&order=0",
                                        "markov?V=100&order=1&zeros=0.5",
                                        "markov?V=9&order=2&levels=3",
                                        NULL};
    for (int s = 0; specs[s] != NULL; s++) {
        OWNED(opened) o = open_model(specs[s], NULL);
        const int vocab = o.model->vocab;
        for (int i = 0; i < vocab * vocab; i++) {
            const int context[] = {i / vocab, i % vocab};
            const double *row = row_after(&o, context, 2);
            assert_ptr_not_equal(row, o.scratch);
            assert_normalised(row, vocab);
        }
    }
}

/* Each order sees its own number of tokens; those missing in a short context count as 0. */
TEST(the_order_is_what_a_row_depends_on)
{
    for (int order = 0; order <= 2; order++) {
        char spec[64];
        snprintf(spec, sizeof spec, "markov?V=5&seed=27&order=%d", order);
        OWNED(opened) o = open_model(spec, NULL);
        assert_int_equal(o.model->order, order);
        const double *row[125];
        for (int i = 0; i < 125; i++) row[i] = row_after(&o, (int[]){i / 25, i / 5 % 5, i % 5}, 3);
        const int seen = order == 0 ? 1 : order == 1 ? 5 : 25;
        for (int i = 0; i < 125; i++) {
            for (int j = 0; j < 125; j++) {
                const bool same = memcmp(row[i], row[j], 5 * sizeof(double)) == 0;
                assert_int_equal(same, i % seen == j % seen);
            }
        }
        assert_ptr_equal(row_after(&o, NULL, 0), row_after(&o, (int[]){0, 0}, 2));
        assert_ptr_equal(row_after(&o, (int[]){3}, 1), row_after(&o, (int[]){0, 3}, 2));
    }
}

/* Compares two routes to a row: the chain's table, and the model that draws the row of a context on
 * request. Text before the context, and a token before a short one, must not matter. */
TEST(the_table_holds_the_rows_of_dirichlet)
{
    for (int order = 0; order <= 2; order++) {
        char spec[96];
        snprintf(spec, sizeof spec, "markov?V=5&seed=27&concentration=0.651&order=%d", order);
        opened markov = open_model(spec, NULL);
        snprintf(spec, sizeof spec, "dirichlet?V=5&seed=27&concentration=0.651&order=%d", order);
        OWNED(opened) dirichlet = open_model(spec, NULL);
        assert_int_equal(markov.model->ends.n, 0);
        assert_int_equal(dirichlet.model->ends.n, 0);
        for (int i = 0; i < 125; i++) {
            const int text[] = {i / 25, i / 5 % 5, i % 5};
            assert_memory_equal(row_after(&markov, text, 3), row_after(&dirichlet, text, 3),
                                5 * sizeof(double));
            assert_ptr_equal(row_after(&markov, text + 1, 2), row_after(&markov, text, 3));
            assert_ptr_equal(row_after(&markov, text + 2, 1),
                             row_after(&markov, (int[]){0, i % 5}, 2));
        }
        opened_free(&markov);
    }
}

TEST(the_same_spec_gives_the_same_bits)
{
    opened a = open_model("markov?V=6&order=2&seed=9", NULL),
           b = open_model("markov?V=6&order=2&seed=9", NULL);
    OWNED(opened) other = open_model("markov?V=6&order=2&seed=8", NULL);
    assert_memory_equal(row_after(&a, NULL, 0), row_after(&b, NULL, 0), 216 * sizeof(double));
    assert_memory_not_equal(row_after(&a, NULL, 0), row_after(&other, NULL, 0), 6 * sizeof(double));
    opened_free(&a);
    opened_free(&b);
}

/* The stationary law is computed exactly, by Gaussian elimination (GSL), and by iterating the
 * chain's law until it converges. */
TEST(the_stationary_law_is_solvable)
{
    enum { V = 6 };
    OWNED(opened) o = open_model("markov?V=6&seed=11&concentration=0.651", NULL);
    double matrix[V * V], right[V] = {0.0}, solved[V], law[V] = {1.0};
    for (int j = 0; j < V; j++) {
        const double *row = row_after(&o, &j, 1);
        for (int i = 0; i < V; i++) matrix[i * V + j] = i == V - 1 ? 1.0 : row[i] - (i == j);
    }
    right[V - 1] = 1.0;
    gsl_matrix_view a = gsl_matrix_view_array(matrix, V, V);
    gsl_vector_view b = gsl_vector_view_array(right, V), x = gsl_vector_view_array(solved, V);
    assert_int_equal(gsl_linalg_HH_solve(&a.matrix, &b.vector, &x.vector), GSL_SUCCESS);
    for (int step = 0; step < 2000; step++) {
        double next[V] = {0.0};
        for (int j = 0; j < V; j++) {
            const double *row = row_after(&o, &j, 1);
            for (int i = 0; i < V; i++) next[i] += law[j] * row[i];
        }
        memcpy(law, next, sizeof law);
    }
    for (int i = 0; i < V; i++) assert_true(fabs(law[i] - solved[i]) < 1e-12 && law[i] > 0.0);
}

TEST(tables_too_large_are_refused)
{
    assert_refused("markov?V=4097&order=1", NULL,
                   "1.68e+07 cells, more than the limit of 16777216");
    assert_refused("markov?V=257&order=2", NULL, "cells");
    assert_refused("markov?V=1048576&order=2", NULL, "1.15e+18 cells");
    assert_refused("markov?V=2000000000", NULL, "between 1 and 1048576");
    assert_refused("markov?V=4&order=-1", NULL, "between 0 and 2");
}
