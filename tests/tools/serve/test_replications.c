/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/rng.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/serving_setup.h"
#include "tests/support/support.h"
#include "tools/serve/paired_latency.h"
#include "tools/serve/slo.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

static double mean_latency(const void *self, const spec_serving_sums *sums)
{
    (void)self;
    return sums->latency / (double)sums->requests;
}

/* Makes replications with these sums, of `requests` requests each. */
static spec_replications of_latencies(const double *latency, int n, uint64_t requests)
{
    spec_replications runs = {.n = n};
    for (int i = 0; i < n; i++) {
        runs.run[i].latency = latency[i];
        runs.run[i].requests = requests;
    }
    return runs;
}

/* ---- estimates ------------------------------------------------------------------------------- */

TEST(the_jackknife_of_a_mean_is_the_mean_and_its_standard_error)
{
    static const double latency[] = {0.27, 2.385, 1.1, 3.7, 0.9};
    double mean = 0.0, m2 = 0.0;
    const spec_replications runs = of_latencies(latency, 5, 1);
    for (int i = 0; i < 5; i++) mean += latency[i] / 5.0;
    for (int i = 0; i < 5; i++) m2 += (latency[i] - mean) * (latency[i] - mean);
    const spec_estimate estimate = spec_replications_estimate(&runs, mean_latency, NULL);
    assert_near(estimate.mean, mean, 1e-13);
    assert_near(estimate.se, sqrt(m2 / 4.0 / 5.0), 1e-13);
    assert_true(estimate.df == 4.0);
}

static double square_of_mean(const void *self, const spec_serving_sums *sums)
{
    const double mean = mean_latency(self, sums);
    return mean * mean;
}

/* The square of a mean is too large by the variance of the mean. */
TEST(the_jackknife_removes_a_bias_of_order_one_over_n)
{
    enum { RUNS = 8, TRIALS = 40000 };
    double plain = 0.0, corrected = 0.0;
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, spec_test_seed(), 0);
    for (int t = 0; t < TRIALS; t++) {
        double latency[RUNS], mean = 0.0;
        for (int i = 0; i < RUNS; i++) mean += (latency[i] = gsl_ran_exponential(rng, 1.0)) / RUNS;
        const spec_replications runs = of_latencies(latency, RUNS, 1);
        plain += mean * mean / TRIALS;
        corrected += spec_replications_estimate(&runs, square_of_mean, NULL).mean / TRIALS;
    }
    gsl_rng_free(rng);
    assert_near(plain, 1.0 + 1.0 / RUNS, 0.03);
    assert_near(corrected, 1.0, 0.03);
}

TEST(equal_replications_have_no_standard_error)
{
    static const double latency[] = {0.3, 0.3, 0.3};
    const spec_replications runs = of_latencies(latency, 3, 7);
    assert_true(spec_replications_estimate(&runs, mean_latency, NULL).se == 0.0);
    assert_true(spec_replications_drift(&runs) == 0.0);
}

TEST(a_drift_is_found_and_noise_is_not)
{
    spec_replications runs = {.n = 64};
    for (int i = 0; i < 64; i++) {
        runs.early[i] = 1.0 + 0.1 * sin(17.0 * i);
        runs.late[i] = 1.0 + 0.1 * sin(23.0 * i + 2.0);
    }
    assert_true(fabs(spec_replications_drift(&runs)) < 1.0);
    for (int i = 0; i < 64; i++) runs.late[i] += 0.2;
    assert_true(spec_replications_drift(&runs) > 8.0);
}

/* ---- quantiles ------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

TEST(a_quantile_is_the_one_of_the_sorted_times)
{
    enum { MOST = 300 };
    static const double quantiles[] = {0.0, 0.01, 0.5, 0.9, 0.99, 1.0};
    float times[MOST], sorted[MOST];
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 1);
    for (int t = 0; t < 400; t++) {
        const uint64_t n = 1 + spec_rng_next(&rng) % (MOST - 1);
        const double levels = t % 3 == 0 ? 5.0 : 1e6; /* with ties, and without */
        for (uint64_t i = 0; i < n; i++)
            times[i] = (float)floor(levels * spec_rng_next_double(&rng));
        memcpy(sorted, times, n * sizeof *times);
        qsort(sorted, n, sizeof *sorted, by_size);
        for (size_t q = 0; q < sizeof quantiles / sizeof *quantiles; q++) {
            const double rank = fmax(1.0, ceil(quantiles[q] * (double)n));
            assert_true(spec_replications_quantile(times, n, quantiles[q]) ==
                        (double)sorted[(size_t)rank - 1]);
        }
    }
}

TEST(requests_without_a_time_per_token_are_left_out)
{
    float times[] = {NAN, 3.0f, NAN, 1.0f, 2.0f};
    float none[] = {NAN, NAN};
    assert_true(spec_replications_quantile(times, 5, 0.5) == 2.0);
    assert_true(isnan(spec_replications_quantile(none, 2, 0.5)));
    assert_true(isnan(spec_replications_quantile(times, 0, 0.5)));
}

TEST(objectives_count_requests_that_meet_every_limit)
{
    float first[] = {0.1f, 0.6f, 0.2f, 0.3f}, per[] = {0.02f, 0.02f, 0.08f, NAN},
          latency[] = {1.0f, 1.0f, 1.0f, 9.0f};
    const spec_replications runs = {
        .kept = 4, .first_token = first, .per_token = per, .latency = latency};
    spec_error error = {""};
    spec_slo slo;
    assert_works(spec_slo_parse(&slo, "", &error));
    assert_false(spec_slo_limits(&slo));
    assert_works(spec_slo_parse(&slo, "ttft=500ms,tpot=50ms", &error));
    assert_true(spec_slo_limits(&slo));
    assert_true(spec_slo_share(&slo, &runs) == 0.5); /* the first, and the one without tpot */
    assert_works(spec_slo_parse(&slo, "latency=2s", &error));
    assert_true(spec_slo_share(&slo, &runs) == 0.75);
    static const char *const wrong[] = {"ttft", "ttft=x", "tbt=5ms", "ttft=-1s", "ttft=1s,ttft=2s"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_not_equal(spec_slo_parse(&slo, wrong[i], &error), GSL_SUCCESS);
}

/* ---- paired latencies ------------------------------------------------------------------------ */

enum { PLANS = 3, RUNS = 64 };

/* The plans of a replication share a factor of spread 0.5, and differ by noise of 0.01. */
static void draw_pairs(spec_replications runs[PLANS], const double factor[PLANS], gsl_rng *rng)
{
    for (int k = 0; k < PLANS; k++) runs[k] = (spec_replications){.n = RUNS};
    for (int i = 0; i < RUNS; i++) {
        const double shared = exp(gsl_ran_gaussian(rng, 0.5));
        for (int k = 0; k < PLANS; k++) {
            runs[k].run[i].requests = 10;
            runs[k].run[i].latency = 10.0 * factor[k] * shared * exp(gsl_ran_gaussian(rng, 0.01));
        }
    }
}

TEST(common_random_numbers_make_the_interval_narrow, STATISTICS)
{
    static const double factor[PLANS] = {1.0, 0.5, 0.502};
    enum { TRIALS = 60 };
    static spec_replications runs[PLANS];
    int covered = 0, open = 0;
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, spec_test_seed(), 2);
    for (int t = 0; t < TRIALS; t++) {
        spec_paired_plan paired[PLANS];
        const spec_replications *of[PLANS] = {&runs[0], &runs[1], &runs[2]};
        int best;
        draw_pairs(runs, factor, rng);
        assert_works(spec_paired_latency(paired, &best, of, NULL, PLANS, 0, (uint64_t)t, &error));
        assert_true(paired[0].speedup.value == 1.0 && paired[0].speedup.low == 1.0);
        /* Without pairing it would be sqrt(2/64) 0.55 2 = 0.19 on either side. */
        assert_true(paired[1].speedup.high - paired[1].speedup.low < 0.03);
        covered += paired[1].speedup.low <= 2.0 && paired[1].speedup.high >= 2.0;
        assert_true(best > 0 && paired[best].as_good && !paired[0].as_good);
        open += paired[3 - best].as_good;
    }
    gsl_rng_free(rng);
    const double p = gsl_cdf_binomial_P((unsigned)covered, 0.95, TRIALS);
    if (p < SPEC_TEST_P) fail_msg("%d of %d intervals cover", covered, TRIALS);
    /* The last two differ by 0.4 %, and their ratio has a standard error of 0.18 % or more. */
    assert_true(open > TRIALS / 6 && open < TRIALS);
}

TEST(a_plan_without_a_result_has_no_speedup_and_is_not_best)
{
    static const double factor[PLANS] = {1.0, 0.5, 0.7};
    static spec_replications runs[PLANS];
    spec_paired_plan paired[PLANS];
    int best;
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, spec_test_seed(), 3);
    draw_pairs(runs, factor, rng);
    gsl_rng_free(rng);
    const spec_replications *without[] = {&runs[0], NULL, &runs[2]};
    assert_works(spec_paired_latency(paired, &best, without, NULL, PLANS, 0, 1, &error));
    assert_int_equal(best, 2);
    assert_true(isnan(paired[1].speedup.value) && !paired[1].as_good);
    const spec_replications *no_plain[] = {NULL, &runs[1], &runs[2]};
    assert_works(spec_paired_latency(paired, &best, no_plain, NULL, PLANS, 0, 1, &error));
    assert_int_equal(best, 1);
    assert_true(isnan(paired[1].speedup.value));
    const spec_replications *all[] = {&runs[0], &runs[1], &runs[2]};
    assert_works(
        spec_paired_latency(paired, &best, all, (bool[]){true, false, true}, PLANS, 0, 1, &error));
    assert_int_equal(best, 2);
    const spec_replications *none[] = {NULL, NULL, NULL};
    assert_works(spec_paired_latency(paired, &best, none, NULL, PLANS, 0, 1, &error));
    assert_int_equal(best, -1);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Replication i is run i of the seed. */
TEST(replications_are_the_same_bytes_for_any_number_of_threads)
{
    static spec_replications runs[3];
    OWNED(serving_setup) setup;
    serving_setup_init(&setup, "step=7ms,token=21us", "round=2ms", "fixed?K=3", 30, 0.7);
    setup.plan.closed = false;
    setup.plan.slots = 40;
    setup.requests.rate = 20.0;
    setup.plan.keep_every = 1;
    for (int threads = 1; threads <= 3; threads++) {
        spec_thread_pool *pool;
        assert_works(spec_thread_pool_init(&pool, threads, &error));
        const spec_replications_plan how = {.n = 16, .seed = 42, .opt_pool = pool};
        assert_works(spec_replications_run(&runs[threads - 1], &setup.plan, &how, &error));
        spec_thread_pool_free(pool);
    }
    for (int t = 1; t < 3; t++) {
        assert_memory_equal(runs[0].run, runs[t].run, sizeof runs[0].run);
        assert_true(runs[0].kept == runs[t].kept && runs[0].kept >= 16 * 300);
        assert_memory_equal(runs[0].latency, runs[t].latency,
                            runs[0].kept * sizeof *runs[0].latency);
    }
    for (uint64_t i = 0; i < 16; i += 15) {
        spec_serving_result one;
        assert_works(spec_serving_run(&one, &setup.plan, 42, i, NULL, &error));
        assert_memory_equal(&runs[0].run[i], &one.sums, sizeof one.sums);
        assert_true(runs[0].early[i] == one.early && runs[0].late[i] == one.late);
        spec_serving_result_free(&one);
    }
    for (int t = 0; t < 3; t++) spec_replications_free(&runs[t]);
}

TEST(the_first_failure_by_number_is_reported)
{
    static spec_replications runs;
    OWNED(serving_setup) setup;
    spec_error error = {""};
    volatile int stop = 1;
    serving_setup_init(&setup, "step=7ms,token=21us", "round=2ms", "fixed?K=3", 30, 0.7);
    const spec_replications_plan stopped = {.n = 4, .seed = 42, .opt_stop = &stop};
    assert_int_equal(spec_replications_run(&runs, &setup.plan, &stopped, &error), GSL_EFAILED);
    spec_replications_free(&runs);
    setup.plan.blocks = 1; /* 16 tokens: no request fits */
    const spec_replications_plan how = {.n = 4, .seed = 42};
    assert_int_equal(spec_replications_run(&runs, &setup.plan, &how, &error), GSL_EINVAL);
    assert_true(error.text[0] != '\0');
    spec_replications_free(&runs);
}
