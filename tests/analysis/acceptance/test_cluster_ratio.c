/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/cluster_ratio.h"

#include "analysis/capped_geometric.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <string.h>

enum { MOST = 600 };

static const double passed7[] = {23, 5, 41, 17, 0, 9, 88}, tested7[] = {31, 9, 47, 40, 0, 9, 131};

/* Computes the jackknife by its definition, from the ratio without each cluster. */
TEST(the_standard_error_is_that_of_deleting_each_cluster)
{
    const spec_cluster_ratio got = spec_cluster_ratio_of(passed7, tested7, 7, 1, 0.05);
    double without[6], square = 0.0, fourth = 0.0, share = 0.0;
    int held = 0;
    for (int g = 0; g < 7; g++) {
        double passed = 0.0, tested = 0.0;
        if (tested7[g] == 0.0) continue;
        for (int i = 0; i < 7; i++) {
            passed += i == g ? 0.0 : passed7[i];
            tested += i == g ? 0.0 : tested7[i];
        }
        without[held++] = passed / tested - 183.0 / 267.0;
        share += tested7[g] * tested7[g] / (267.0 * 267.0);
    }
    for (int g = 0; g < 6; g++) {
        square += pow(without[g], 2);
        fourth += pow(without[g], 4);
    }
    assert_near(got.value, 183.0 / 267.0, 1e-14);
    assert_near(got.se, sqrt(5.0 / 6.0 * square), 1e-12);
    assert_near(got.design_effect, got.se * got.se * 267.0 / (183.0 / 267.0 * 84.0 / 267.0), 1e-12);
    const double by_size = 1.0 / share - 1.0,
                 by_spread = 2.0 * square * square / (fourth - square * square / 6.0);
    assert_true(by_size < by_spread);
    assert_near(got.df, by_size, 1e-12);
    const double t = gsl_cdf_tdist_Pinv(0.975, by_size),
                 wide = t * got.se / (got.value * (1.0 - got.value));
    assert_near(log(got.high / (1.0 - got.high)) - log(got.value / (1.0 - got.value)), wide, 1e-10);
    assert_near(log(got.value / (1.0 - got.value)) - log(got.low / (1.0 - got.low)), wide, 1e-10);
}

/* Eight clusters of equal size, of which cluster 3 differs: by size, df is 7. By hand: u is 7/8
 * once and -1/8 seven times, times 10 and 8/7; the sums of squares and of fourth powers, in units
 * of 1/64 and 1/4096, are 56 and 2408. */
TEST(one_odd_cluster_has_few_degrees_of_freedom)
{
    double passed[8], tested[8];
    for (int g = 0; g < 8; g++) {
        tested[g] = 100.0;
        passed[g] = g == 3 ? 90.0 : 80.0;
    }
    const spec_cluster_ratio got = spec_cluster_ratio_of(passed, tested, 8, 1, 0.05);
    assert_near(got.df, 2.0 * 56.0 * 56.0 / (2408.0 - 56.0 * 56.0 / 8.0), 1e-9);
    assert_near(got.se, sqrt(7.0 / 8.0 * 56.0 / 64.0) * 10.0 * 8.0 / 7.0 / 800.0, 1e-12);
    /* If one cluster has nearly all trials, df is still not below 1. */
    const double most_passed[] = {700.0, 1.0, 2.0}, most_tested[] = {1000.0, 3.0, 3.0};
    assert_same(spec_cluster_ratio_of(most_passed, most_tested, 3, 1, 0.05).df, 1.0);
}

/* Equal clusters, and a ratio that is not a proportion: se is that of the mean of the clusters'
 ratios. */
TEST(another_ratio_has_an_interval_of_its_logarithm)
{
    const double tokens[] = {270, 310, 290, 331, 247}, rounds[] = {100, 100, 100, 100, 100};
    const spec_cluster_ratio got = spec_cluster_ratio_of(tokens, rounds, 5, 0, 0.1);
    double square = 0.0;
    for (int g = 0; g < 5; g++) square += pow(tokens[g] / 100.0 - 2.896, 2);
    assert_near(got.value, 2.896, 1e-14);
    assert_near(got.se, sqrt(square / 4.0 / 5.0), 1e-12);
    assert_near(got.df, 4.0, 1e-12);
    const double t = gsl_cdf_tdist_Pinv(0.95, 4.0);
    assert_near(log(got.high / got.value), t * got.se / got.value, 1e-11);
    assert_near(log(got.value / got.low), t * got.se / got.value, 1e-11);
    assert_nan(got.design_effect);
    const double all[] = {4, 8, 12}, of[] = {1, 2, 3};
    const spec_cluster_ratio sure = spec_cluster_ratio_of(all, of, 3, 0, 0.05);
    assert_true(sure.value == 4.0 && sure.se == 0.0 && sure.low == 4.0 && sure.high == 4.0);
    const double none[] = {0, 0, 0};
    const spec_cluster_ratio zero = spec_cluster_ratio_of(none, of, 3, 0, 0.05);
    assert_true(zero.value == 0.0 && zero.low == 0.0 && zero.high == 0.0);
}

TEST(clusters_without_spread_have_the_interval_of_independent_trials)
{
    const double none[4] = {0}, all[] = {20, 30, 10, 40}, tested[] = {20, 30, 10, 40};
    const double df = 1e4 / 3000.0 - 1.0, t = gsl_cdf_tdist_Pinv(0.975, df),
                 se = sqrt(1.0 / 0.5 + 1.0 / 100.5);
    const spec_cluster_ratio zero = spec_cluster_ratio_of(none, tested, 4, 1, 0.05),
                             one = spec_cluster_ratio_of(all, tested, 4, 1, 0.05);
    assert_true(zero.value == 0.0 && zero.low == 0.0 && zero.se == 0.0);
    assert_near(zero.high / (1.0 - zero.high), 0.5 / 100.5 * exp(t * se), 1e-10);
    assert_true(one.value == 1.0 && one.high == 1.0);
    assert_near(one.low, 1.0 - zero.high, 1e-10);
    assert_nan(zero.design_effect);
    const double half[] = {10, 15, 5, 20};
    const spec_cluster_ratio even = spec_cluster_ratio_of(half, tested, 4, 1, 0.05);
    assert_true(even.se == 0.0 && even.design_effect == 0.0);
    assert_near(log(even.high / (1.0 - even.high)), t * sqrt(2.0 / 50.5), 1e-10);
    assert_near(even.low, 1.0 - even.high, 1e-10);
    /* Rounding of the quotients does not show up as spread, either. */
    const double seventh[] = {7, 21, 14, 28}, of[] = {8, 24, 16, 32};
    for (size_t n = 2; n <= 4; n++) {
        const spec_cluster_ratio same = spec_cluster_ratio_of(seventh, of, n, 1, 0.05);
        assert_true(same.se == 0.0 && same.high - same.low > 0.1);
    }
    static double x[1000], y[1000];
    for (int a = 1; a < 60; a++) {
        for (int i = 0; i < 1000; i++) {
            x[i] = a * (1 + i % 37);
            y[i] = 61 * (1 + i % 37);
        }
        for (size_t n = 2; n <= 1000; n += 199)
            assert_true(spec_cluster_ratio_of(x, y, n, 1, 0.05).se == 0.0);
    }
}

TEST(nothing_is_said_without_clusters)
{
    const double zero[] = {0, 0}, good[] = {1, 2}, more[] = {3, 4};
    const double wrong[] = {NAN, -1.0, INFINITY};
    const spec_cluster_ratio none = spec_cluster_ratio_of(zero, zero, 2, 1, 0.05),
                             empty = spec_cluster_ratio_of(good, more, 0, 1, 0.05),
                             single = spec_cluster_ratio_of(good, more, 1, 1, 0.05);
    assert_true(isnan(none.value) && isnan(none.low) && isnan(empty.value) && isnan(empty.se));
    assert_near(single.value, 1.0 / 3.0, 1e-15);
    assert_true(isnan(single.se) && isnan(single.df) && isnan(single.low) && isnan(single.high) &&
                isnan(single.design_effect));
    for (int i = 0; i < 3; i++) {
        const double bad[] = {1.0, wrong[i]};
        assert_nan(spec_cluster_ratio_of(bad, more, 2, 0, 0.05).value);
        assert_nan(spec_cluster_ratio_of(good, bad, 2, 0, 0.05).value);
    }
    const double errors[] = {0.0, 1.0, NAN, -0.3};
    for (int i = 0; i < 4; i++) {
        const spec_cluster_ratio ratio = spec_cluster_ratio_of(good, more, 2, 1, errors[i]);
        assert_true(ratio.se > 0.0 && isnan(ratio.low) && isnan(ratio.high));
    }
}

TEST(joining_keeps_the_sums_and_the_order)
{
    enum { N = 100, M = 3 };
    double column[N * M], first[N * M];
    for (int i = 0; i < N; i++) { /* the last column identifies the order */
        column[i * M] = 1.0 + i % 7;
        column[i * M + 1] = 10.0 + (i * 37) % 11;
        column[i * M + 2] = i;
    }
    memcpy(first, column, sizeof column);
    assert_int_equal(spec_cluster_ratio_join(column, N, M, 1, N), N);
    assert_memory_equal(first, column, sizeof column);
    const size_t n = spec_cluster_ratio_join(column, N, M, 1, 16);
    assert_int_equal(n, 16);
    size_t at = 0;
    double total = 0.0;
    for (int i = 0; i < N; i++) total += first[i * M + 1];
    for (size_t g = 0; g < n; g++) { /* each is a run of neighbours of about a 16th */
        double sum[M] = {0};
        while (at < N && sum[1] < column[g * M + 1]) {
            for (int k = 0; k < M; k++) sum[k] += first[at * M + (size_t)k];
            at++;
        }
        for (size_t k = 0; k < M; k++) assert_same(sum[k], column[g * M + k]);
        assert_within(column[g * M + 1], total / 16.0, 21.0);
    }
    assert_int_equal(at, N);
}

TEST(joining_takes_unequal_and_empty_clusters)
{
    double huge[] = {1, 1, 900, 1, 1, 1, 0, 1};
    /* The middles are at .5, 1.5, 452, 902.5 ... of 906, so they fall into parts 0, 0, 1, 3 ... of
     * 4. */
    assert_int_equal(spec_cluster_ratio_join(huge, 8, 1, 0, 4), 3);
    assert_true(huge[0] == 2.0 && huge[1] == 900.0 && huge[2] == 4.0);
    double few[] = {1, 1, 900};
    assert_int_equal(spec_cluster_ratio_join(few, 3, 1, 0, 4), 3); /* 1 and 1 would be one part */
    double without[] = {0, 5, 0, 6, 0, 7, 0, 8, 0, 9};
    assert_int_equal(spec_cluster_ratio_join(without, 5, 2, 0, 2), 2);
    assert_true(without[1] == 11.0 && without[3] == 24.0); /* 5 + 6, 7 + 8 + 9 */
    double one[] = {3, 4, 5};
    assert_int_equal(spec_cluster_ratio_join(one, 3, 1, 0, 1), 1);
    assert_true(one[0] == 12.0);
    assert_int_equal(spec_cluster_ratio_join(NULL, 0, 1, 0, 1), 0);
}

/* A law of clusters. */
typedef struct {
    const char *name;
    int n;
    double alpha, rho; /* mean of the Beta law of alpha, and 1/(a + b + 1); 0: one alpha */
    double size;       /* mean trials of a cluster */
    double sigma;      /* of the logarithm of a size */
    double longest;    /* share of the trials in the longest 3 % of clusters; 0: no such tail */
    double phi;        /* > 0: windows of autocorrelation phi^lag and deviation .05, joined */
    double least, most;
    double wrong; /* above the coverage of binomial intervals */
    int windows;  /* before they are joined; 0: MOST */
} law;

static void draw(double *passed, double *tested, const law *of, gsl_rng *rng)
{
    const int series = of->windows > 0 ? of->windows : MOST,
              windows = of->phi > 0.0 ? series : of->n, longest = of->n * 3 / 100 + (of->n < 34);
    static double column[MOST][2];
    double state = gsl_ran_ugaussian(rng);
    for (int i = 0; i < windows; i++) {
        double alpha = of->alpha,
               n = of->size * exp(of->sigma * gsl_ran_ugaussian(rng) - of->sigma * of->sigma / 2.0);
        if (of->longest > 0.0 && i < longest)
            n = of->size * (of->n - longest) / longest * of->longest / (1.0 - of->longest);
        if (of->rho > 0.0) {
            const double sum = 1.0 / of->rho - 1.0;
            alpha = gsl_ran_beta(rng, of->alpha * sum, (1.0 - of->alpha) * sum);
        }
        if (of->phi > 0.0) {
            state = of->phi * state + sqrt(1.0 - of->phi * of->phi) * gsl_ran_ugaussian(rng);
            alpha += 0.05 * state;
        }
        column[i][1] = ceil(n);
        column[i][0] = gsl_ran_binomial(rng, alpha, (unsigned)column[i][1]);
    }
    if (of->phi > 0.0) spec_cluster_ratio_join(&column[0][0], (size_t)windows, 2, 1, (size_t)of->n);
    for (int i = 0; i < of->n; i++) {
        passed[i] = column[i][0];
        tested[i] = column[i][1];
    }
}

/* Computes how often intervals with a nominal coverage of .95 contain the truth: ours, those for
 * independent trials, and those with normal quantiles. */
typedef struct {
    double held, binomial, normal;
} coverage;

static coverage coverage_of(const law *of, int samples, gsl_rng *rng)
{
    double passed[MOST], tested[MOST];
    coverage sum = {0};
    for (int s = 0; s < samples; s++) {
        draw(passed, tested, of, rng);
        const spec_cluster_ratio got =
            spec_cluster_ratio_of(passed, tested, (size_t)of->n, 1, 0.05);
        const double off = fabs(got.value - of->alpha);
        sum.held += (got.low <= of->alpha && got.high >= of->alpha) / (double)samples;
        sum.binomial += (off <= 1.96 * got.se / sqrt(got.design_effect)) / (double)samples;
        sum.normal += (off <= 1.96 * got.se) / (double)samples;
    }
    printf("%-24s %.3f, binomial %.3f, normal %.3f\n", of->name, sum.held, sum.binomial,
           sum.normal);
    assert_true(sum.held >= of->least && sum.held <= of->most);
    assert_true(sum.binomial < of->wrong);
    return sum;
}

/* The nominal coverage is .95. Over 15,000 samples it is .949 to .968, except .928 for rare
 * failures in clumps and .941 for joined windows. 2,500 samples have a standard error of .0044 to
 * .0052, 1,000 of joined windows .0075; the lower limits are 4 standard errors below these values.
 * They reject binomial intervals, which cover .24 to .45 of the samples from clustered laws, and
 * intervals with normal quantiles, which cover .87 with 5 clusters. Without the df from the spread,
 * the Beta law of mean .98 is covered in .88. */
TEST(intervals_hold_as_often_as_they_say, STATISTICS)
{
    static const law laws[] = {
        {"one alpha, 5 clusters", 5, 0.7, 0.0, 200, 0.0, 0.0, 0.0, 0.93, 0.97, 1.0, 0},
        {"Beta alpha, 8 clusters", 8, 0.7, 0.05, 200, 0.0, 0.0, 0.0, 0.93, 0.97, 0.6, 0},
        {"Beta alpha, 12 unequal", 12, 0.7, 0.05, 200, 1.0, 0.0, 0.0, 0.93, 0.97, 0.6, 0},
        {"Beta alpha, 20 unequal", 20, 0.7, 0.1, 200, 1.0, 0.0, 0.0, 0.93, 0.97, 0.6, 0},
        {"3 % hold 30 %", 40, 0.7, 0.05, 100, 0.5, 0.3, 0.0, 0.94, 0.985, 0.6, 0},
        {"one alpha of .99, 8", 8, 0.99, 0.0, 100, 0.5, 0.0, 0.0, 0.93, 0.985, 1.0, 0},
        {"Beta of mean .98, 40", 40, 0.98, 0.2, 100, 0.5, 0.0, 0.0, 0.9, 0.96, 0.6, 0},
        {"windows, joined", 12, 0.7, 0.0, 100, 0.3, 0.0, 0.8, 0.91, 0.97, 0.6, 0},
    };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) {
        const int samples = (int)spec_test_samples(laws[k].phi > 0.0 ? 1000 : 2500);
        const coverage got = coverage_of(&laws[k], samples, rng);
        if (k == 0) assert_true(got.normal < 0.91);
    }
}

/* The limits of joining: if there are few windows, the joined ones still depend on one another,
 * which is why intervals of windows are widened (analysis/acceptance/serial_widening.h). 1,000
 * samples have a standard error of .008 to .016; the limits are 4 standard errors from the coverage
 * over 20,000 samples. */
TEST(few_dependent_windows_hold_less_often, STATISTICS)
{
    static const law laws[] = {
        {"60 windows, phi .5", 12, 0.7, 0.0, 100, 0.3, 0.0, 0.5, 0.894, 0.96, 0.9, 60},
        {"60 windows, phi .8", 12, 0.7, 0.0, 100, 0.3, 0.0, 0.8, 0.78, 0.876, 0.6, 60},
        {"60 windows, phi .95", 12, 0.7, 0.0, 100, 0.3, 0.0, 0.95, 0.471, 0.597, 0.5, 60},
        {"24 windows, phi .5", 12, 0.7, 0.0, 100, 0.3, 0.0, 0.5, 0.846, 0.926, 0.9, 24},
        {"24 windows, phi .8", 12, 0.7, 0.0, 100, 0.3, 0.0, 0.8, 0.662, 0.776, 0.7, 24},
        {"24 windows, phi .95", 12, 0.7, 0.0, 100, 0.3, 0.0, 0.95, 0.394, 0.52, 0.5, 24},
    };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (size_t k = 0; k < sizeof laws / sizeof *laws; k++)
        coverage_of(&laws[k], (int)spec_test_samples(1000), rng);
}

/* docs/formulas/statistics.md#cluster-ratio: requests of 256 tokens at K = 5, whose alphas have a
 * Beta law of mean .9 and concentration 5. With few requests the interval of tokens per round is
 * too narrow, but that of alpha hardly is. 1,000 samples have a standard error of .007 to .012. */
TEST(tokens_of_few_requests_are_held_less_often, STATISTICS)
{
    enum { K = 5, OUTPUT = 256 };
    static const struct {
        int n;
        double tokens, alpha; /* coverage over 4,000 samples */
    } rows[] = {{5, 0.833, 0.927}, {12, 0.887, 0.927}, {50, 0.936, 0.953}};
    const int samples = (int)spec_test_samples(1000);
    double passed[50], tested[50], tokens[50], rounds[50], sum[4] = {0};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int s = -200000; s < 0; s++) { /* the truth: rounds of an endless request per token */
        const double alpha = gsl_ran_beta(rng, 4.5, 0.5),
                     emitted = spec_capped_geometric_mean(alpha, K);
        sum[0] += 1 / emitted;
        sum[1] += (emitted - 1) / emitted;
        sum[2] += (emitted - pow(alpha, K)) / emitted;
    }
    const double mean = 200000 / sum[0], pooled = sum[1] / sum[2];
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const size_t n = (size_t)rows[k].n;
        int held[2] = {0};
        for (int s = 0; s < samples; s++) {
            for (size_t i = 0; i < n; i++) {
                const double alpha = gsl_ran_beta(rng, 4.5, 0.5);
                passed[i] = tested[i] = tokens[i] = rounds[i] = 0;
                while (tokens[i] < OUTPUT) {
                    int accepted = 0;
                    while (accepted < K && gsl_rng_uniform(rng) < alpha) accepted++;
                    passed[i] += accepted;
                    tested[i] += accepted < K ? accepted + 1 : K;
                    tokens[i] += accepted + 1;
                    rounds[i]++;
                }
            }
            const spec_cluster_ratio per_round = spec_cluster_ratio_of(tokens, rounds, n, 0, 0.05),
                                     share = spec_cluster_ratio_of(passed, tested, n, 1, 0.05);
            held[0] += per_round.low <= mean && per_round.high >= mean;
            held[1] += share.low <= pooled && share.high >= pooled;
        }
        printf("%d requests: tokens per round %.3f, alpha %.3f\n", rows[k].n,
               (double)held[0] / samples, (double)held[1] / samples);
        assert_within((double)held[0] / samples, rows[k].tokens, 0.048 * sqrt(1000.0 / samples));
        assert_within((double)held[1] / samples, rows[k].alpha, 0.035 * sqrt(1000.0 / samples));
    }
}
