/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/log_histogram.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <math.h>

enum { N = 20001 };

static spec_log_histogram *empty(void)
{
    spec_log_histogram *h = calloc(1, sizeof *h);
    assert_non_null(h);
    return h;
}

static double quantile(spec_log_histogram *const *histogram, int n, double q)
{
    double found;
    spec_log_histogram_quantiles(&found, &q, 1, histogram, n);
    return found;
}

/* Numbers over 30 octaves, in two histograms. */
TEST(a_quantile_is_the_order_statistic_within_a_bucket)
{
    static double x[N];
    FREED spec_log_histogram *a = empty(), *b = empty();
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < N; i++) {
        x[i] = (float)exp2(47.0 * gsl_rng_uniform(rng) - 19.5);
        spec_log_histogram_add(i % 3 == 0 ? a : b, (float)x[i]);
    }
    gsl_sort(x, 1, N);
    spec_log_histogram *const both[] = {a, b};
    double q[1000], found[1000];
    for (int k = 0; k < 1000; k++) q[k] = (k + 1) / 1000.0;
    spec_log_histogram_quantiles(found, q, 1000, both, 2);
    for (int k = 0; k < 1000; k++) {
        const double exact = x[(int)ceil(q[k] * N) - 1];
        assert_true(found[k] <= exact && exact < found[k] * (1.0 + 1.0 / 1024.0));
    }
}

TEST(whole_numbers_up_to_2048_are_exact)
{
    for (int n = 0; n <= 2048; n++) {
        FREED spec_log_histogram *h = empty();
        spec_log_histogram_add(h, (float)n);
        spec_log_histogram *const one[] = {h};
        assert_same(quantile(one, 1, 0.5), (double)n);
    }
}

TEST(numbers_beyond_the_buckets_count_at_the_ends)
{
    FREED spec_log_histogram *h = empty();
    spec_log_histogram *const one[] = {h};
    assert_nan(quantile(one, 1, 0.5));
    spec_log_histogram_add(h, 1e-9F);
    spec_log_histogram_add(h, 3.0F);
    spec_log_histogram_add(h, 1e30F);
    assert_same(quantile(one, 1, 0.3), 0.0);
    assert_same(quantile(one, 1, 0.6), 3.0);
    assert_near(quantile(one, 1, 1.0), exp2(28.0), 1e-3);
}
