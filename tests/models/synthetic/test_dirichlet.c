/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/synthetic/dirichlet.h"

#include "base/noise.h"
#include "tests/models/open_model.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>

TEST(every_row_is_normalised)
{
    static const char *const specs[] = {
        "dirichlet",
        "dirichlet?V=1",
        "dirichlet?V=2&concentration=1e-6",
        "dirichlet?V=300&concentration=1e-6",
        "dirichlet?V=50&concentration=1e9",
        "dirichlet?V=20&zeros=0.8",
        "dirichlet?V=20&zeros=1",
        "dirichlet?V=20&levels=4",
        "dirichlet?V=20&levels=1000000000",
        "dirichlet?V=9&levels=2&zeros=1",
        "dirichlet?V=5&order=0",
        "dirichlet?V=5&order=16",
        NULL,
    };
    for (int s = 0; specs[s] != NULL; s++) {
        OWNED(opened) o = open_model(specs[s], NULL);
        for (int i = 0; i < 100; i++) {
            const int vocab = o.model->vocab,
                      context[] = {i % vocab, i / 7 % vocab, i / 49 % vocab};
            assert_normalised(row_after(&o, context, 3), vocab);
        }
    }
}

TEST(rows_are_a_function_of_the_seed_and_the_last_tokens)
{
    opened a = open_model("dirichlet?V=10&order=2&seed=27", NULL),
           b = open_model("dirichlet?V=10&order=2&seed=27", NULL);
    OWNED(opened) other = open_model("dirichlet?V=10&order=2&seed=28", NULL);
    double kept[100][10];
    for (int i = 0; i < 100; i++) {
        const int context[] = {3, i / 10, i % 10};
        memcpy(kept[i], row_after(&a, context, 3), sizeof kept[i]);
    }
    for (int i = 99; i >= 0; i--) {
        const int context[] = {9, 9, i / 10, i % 10};
        assert_memory_equal(kept[i], row_after(&b, context, 4), sizeof kept[i]);
        assert_memory_not_equal(kept[i], row_after(&other, context, 4), sizeof kept[i]);
        for (int j = 0; j < i; j++) assert_memory_not_equal(kept[i], kept[j], sizeof kept[i]);
    }
    opened_free(&a);
    opened_free(&b);
}

/* Compares with a second route, GSL's gamma variates from the same words. Builds of GSL may round
 * differently. */
TEST(weights_are_the_gamma_variates_of_gsl)
{
    enum { V = 200 };
    static const double concentrations[] = {0.07, 0.999, 1.0, 2.385, 59.0};
    for (size_t c = 0; c < sizeof concentrations / sizeof *concentrations; c++) {
        const double a = concentrations[c];
        const spec_dirichlet law = {.concentration = a};
        for (uint64_t key = 0; key < 50; key++) {
            double row[V], expected[V], sum = 0.0, largest = -INFINITY;
            uint64_t word = key;
            gsl_rng rng = {.type = spec_noise_rng_type, .state = &word};
            spec_dirichlet_row(row, V, &law, key);
            for (int i = 0; i < V; i++) {
                expected[i] = log(gsl_ran_gamma(&rng, a < 1.0 ? a + 1.0 : a, 1.0));
                if (a < 1.0) expected[i] += log(gsl_rng_uniform_pos(&rng)) / a;
                largest = fmax(largest, expected[i]);
            }
            for (int i = 0; i < V; i++) sum += expected[i] = exp(expected[i] - largest);
            for (int i = 0; i < V; i++)
                assert_true(fabs(row[i] * sum - expected[i]) <= 1e-13 * expected[i]);
        }
    }
}

/* A second route: under the symmetric law a coordinate is Beta(a, (V-1) a), whose distribution
 * function GSL has. The transformed values are uniform, tested by chi-square in 20 cells with 19
 * degrees of freedom. 40000 rows reject, for a < 1, the wrong gamma(a) = gamma(a+2) U^(1/a). */
TEST(coordinates_follow_the_beta_law, STATISTICS)
{
    static const double concentrations[] = {0.3, 0.851, 2.385};
    const uint64_t seed = spec_test_seed();
    const int n = (int)spec_test_samples(40000);
    for (int c = 0; c < 3; c++) {
        const spec_dirichlet law = {.concentration = concentrations[c], .seed = seed};
        double count[20] = {0.0}, row[5];
        for (int i = 0; i < n; i++) {
            spec_dirichlet_row(row, 5, &law, spec_noise_key(seed, &i, 1, 1));
            const double u = gsl_cdf_beta_P(row[i % 5], law.concentration, 4.0 * law.concentration);
            count[u < 1.0 ? (int)(20.0 * u) : 19]++;
        }
        double chi2 = 0.0;
        for (int k = 0; k < 20; k++)
            chi2 += (count[k] - n / 20.0) * (count[k] - n / 20.0) / (n / 20.0);
        assert_true(gsl_cdf_chisq_Q(chi2, 19.0) > SPEC_TEST_P);
    }
}

/* The expected number of zeros: one token is kept, and each of the others is dropped with
 * probability 0.27. */
TEST(zeros_come_at_their_chance)
{
    OWNED(opened) o = open_model("dirichlet?V=101&zeros=0.27&order=1&concentration=5", NULL);
    double zeros = 0.0;
    const int n = 100;
    for (int i = 0; i < n; i++) {
        const double *row = row_after(&o, &i, 1);
        for (int j = 0; j < 101; j++) zeros += row[j] == 0.0;
    }
    const double mean = 100.0 * n * 0.27, sd = sqrt(mean * 0.73);
    assert_true(fabs(zeros - mean) < 4.9 * sd); /* p > 1e-6; a probability of 0.30 is 6.7 sd away */
    opened_free(&o);

    o = open_model("dirichlet?V=101&zeros=0.031&order=1&levels=9", NULL);
    zeros = 0.0;
    for (int i = 0; i < n; i++) {
        const double *row = row_after(&o, &i, 1);
        for (int j = 0; j < 101; j++) zeros += row[j] == 0.0;
    }
    assert_true(fabs(zeros - 310.0) < 4.9 * sqrt(310.0 * 0.969));
    opened_free(&o);

    o = open_model("dirichlet?V=9&zeros=1&order=2", NULL);
    bool seen[9] = {false};
    for (int i = 0; i < 100; i++) {
        const double *row = row_after(&o, (int[]){i % 9, i / 9 % 9}, 2);
        const int best = spec_row_argmax(row, 9);
        assert_true(row[best] == 1.0);
        seen[best] = true;
    }
    int different = 0;
    for (int j = 0; j < 9; j++) different += seen[j];
    assert_true(different > 4);
}

/* With integer levels 1..n every probability is an integer multiple of 1/sum, all levels occur, and
 * equal levels tie bit for bit. */
TEST(levels_are_whole_numbers)
{
    OWNED(opened) o = open_model("dirichlet?V=40&levels=3&zeros=0.2&order=1", NULL);
    for (int i = 0; i < 40; i++) {
        const double *row = row_after(&o, &i, 1);
        double value[4];
        int n_values = 0;
        for (int j = 0; j < 40; j++) {
            int k = 0;
            while (k < n_values && value[k] != row[j]) k++;
            if (k == n_values) {
                assert_true(n_values < 4);
                value[n_values++] = row[j];
            }
        }
        assert_int_equal(n_values,
                         4); /* 0, 1, 2, 3 over the sum; one is missing in 3 of 10,000 rows */
        const double largest = row[spec_row_argmax(row, 40)];
        for (int k = 0; k < 4; k++)
            assert_true(fabs(3.0 * value[k] / largest - round(3.0 * value[k] / largest)) < 1e-14);
    }
    opened_free(&o);
    o = open_model("dirichlet?V=8&levels=1", NULL);
    for (int j = 0; j < 8; j++) assert_true(row_after(&o, NULL, 0)[j] == 0.125);
}

TEST(small_concentrations_do_not_underflow)
{
    OWNED(opened) o = open_model("dirichlet?V=64&concentration=1e-6&order=1", NULL);
    for (int i = 0; i < 64; i++) {
        const double *row = row_after(&o, &i, 1);
        assert_normalised(row, 64);
        assert_true(row[spec_row_argmax(row, 64)] > 0.9);
    }
}

TEST(hostile_specs_are_refused)
{
    assert_refused("dirichlet?concentration=0", NULL,
                   "concentration=0 is not between 1e-06 and 1e+09");
    assert_refused("dirichlet?concentration=-1", NULL, "between");
    assert_refused("dirichlet?concentration=nan", NULL, "finite");
    assert_refused("dirichlet?order=17", NULL, "between 0 and 16");
    assert_refused("dirichlet?zeros=1.01", NULL, "between 0 and 1");
    assert_refused("dirichlet?levels=-1", NULL, "between 0");
    assert_refused("dirichlet?seed=-1", NULL, "2^64-1");
    assert_refused("dirichlet?concentraton=1", NULL, "did you mean 'concentration'");
    assert_refused("markov?order=3", NULL, "between 0 and 2");
}
