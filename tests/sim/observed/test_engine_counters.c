/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/observed/engine_counters.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

static spec_counted_engine plain_engine(void)
{
    return (spec_counted_engine){.decay = 1.0,
                                 .output = 37.0,
                                 .K = 4,
                                 .batch = 5,
                                 .cost = {.step = 0.01,
                                          .token = 2e-4,
                                          .draft_round = 1e-3,
                                          .draft_pass = 7e-4,
                                          .draft_token = 3e-5}};
}

static const spec_alpha_law one_alpha = {.kind = SPEC_ALPHA_ONE, .mean = 0.67};

/* With probability `stay` a round repeats its random number, so n_accepted of neighbours has this
 * correlation. */
TEST(rounds_that_stay_are_correlated)
{
    enum { N = 30000 };
    static spec_engine_counters c[N];
    spec_counted_engine engine = plain_engine();
    const spec_alpha_law law = one_alpha;
    engine.stay = 0.6;
    engine.output = 1e9;
    engine.batch = 1;
    engine.cost = (spec_affine_step){.step = 1.0};
    assert_int_equal(
        spec_engine_counters_windows(c, N, 1.0, &engine, &law, spec_test_seed(), 0, NULL),
        GSL_SUCCESS);
    double mean = 0.0, variance = 0.0, covariance = 0.0;
    for (int i = 0; i < N; i++) {
        assert_int_equal(c[i].rounds, 1);
        mean += (double)c[i].accepted / N;
    }
    for (int i = 0; i < N; i++) {
        variance += pow((double)c[i].accepted - mean, 2) / N;
        if (i > 0)
            covariance +=
                ((double)c[i].accepted - mean) * ((double)c[i - 1].accepted - mean) / (N - 1);
    }
    assert_within(covariance / variance, 0.6, 5.0 / sqrt(N));
}

TEST(a_run_is_a_function_of_its_arguments)
{
    enum { N = 7 };
    const spec_alpha_law law = {.kind = SPEC_ALPHA_BETA, .mean = 0.67, .concentration = 3.0};
    spec_counted_engine engine = plain_engine();
    engine.stay = 0.6;
    engine.stop = engine.sees = 0.4;
    spec_engine_counters one[N], same[N], other[N];
    for (int requests = 0; requests <= 1; requests++) {
        for (int i = 0; i < 3; i++) {
            spec_engine_counters *ret = (spec_engine_counters *[]){one, same, other}[i];
            const uint64_t stream = i == 2 ? 9 : 8;
            assert_int_equal(
                requests
                    ? spec_engine_counters_requests(ret, N, &engine, &law, 42, stream, NULL)
                    : spec_engine_counters_windows(ret, N, 0.3, &engine, &law, 42, stream, NULL),
                GSL_SUCCESS);
        }
        assert_memory_equal(one, same, sizeof one);
        assert_memory_not_equal(one, other, sizeof one);
    }
}

/* Requests are never cut off, however long they are, so their mean length is that of the geometric
 * law. */
TEST(requests_are_whole)
{
    enum { N = 4000 };
    static spec_engine_counters c[N];
    double sum = 0.0;
    const spec_counted_engine engine = plain_engine();
    const spec_alpha_law law = one_alpha;
    assert_int_equal(spec_engine_counters_requests(c, N, &engine, &law, spec_test_seed(), 1, NULL),
                     GSL_SUCCESS);
    for (int i = 0; i < N; i++) {
        assert_true(c[i].rounds >= 1 && c[i].emitted >= 1);
        sum += (double)c[i].emitted;
    }
    assert_within(sum / N, engine.output, 5.0 * engine.output / sqrt(N));
}

TEST(an_output_of_one_token_is_one_round)
{
    spec_engine_counters c[3];
    spec_counted_engine engine = plain_engine();
    const spec_alpha_law law = one_alpha;
    engine.output = 1.0;
    assert_int_equal(spec_engine_counters_requests(c, 3, &engine, &law, 42, 0, NULL), GSL_SUCCESS);
    for (int i = 0; i < 3; i++) assert_true(c[i].rounds == 1 && c[i].emitted == 1);
}

TEST(plain_decoding_drafts_nothing)
{
    spec_engine_counters c;
    spec_counted_engine engine = plain_engine();
    engine.stop = engine.sees = 0.4;
    const spec_alpha_law law = one_alpha;
    engine.K = 0;
    engine.cost = (spec_affine_step){.step = 0.25, .draft_round = 1.0};
    assert_int_equal(spec_engine_counters_windows(&c, 1, 10.0, &engine, &law, 42, 0, NULL),
                     GSL_SUCCESS);
    assert_int_equal(c.rounds, 40 * engine.batch);
    assert_int_equal(c.emitted, c.rounds);
    assert_int_equal(c.drafted + c.accepted, 0);
}

TEST(wrong_settings_are_refused)
{
    spec_engine_counters c;
    spec_counted_engine engine = plain_engine();
    const spec_alpha_law law = one_alpha;
    assert_status(spec_engine_counters_windows(&c, 1, NAN, &engine, &law, 42, 0, &error), GSL_EDOM);
    assert_status(spec_engine_counters_windows(&c, 1, 0.0, &engine, &law, 42, 0, &error), GSL_EDOM);
    assert_status(spec_engine_counters_windows(&c, 0, 1.0, &engine, &law, 42, 0, &error), GSL_EDOM);
    assert_status(spec_engine_counters_requests(&c, 0, &engine, &law, 42, 0, &error), GSL_EDOM);
    engine.stay = 1.0;
    assert_status(spec_engine_counters_requests(&c, 1, &engine, &law, 42, 0, &error), GSL_EDOM);
}
