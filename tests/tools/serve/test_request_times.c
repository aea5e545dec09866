/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/request_times.h"

#include "sim/serving/requests/requests.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/serve/step_fit.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

static void check(int status, const spec_error *error)
{
    if (status != GSL_SUCCESS) fail_msg("%s", error->text);
}

/* ---- clocks and halves ----------------------------------------------------------------------- */

/* Four requests; the engine's clock is 100 s ahead of the one that gives arrivals. The second
 * request was queued at once; the others waited 0.25, 0.5 and 1 s for a step to end. */
static double arrival[] = {0.0, 1.0, 2.0, 4.0}, queued[] = {100.25, 101.0, 102.5, 105.0},
              first[] = {101.0, 101.5, 103.0, 105.0}, last[] = {102.0, 101.5, 109.0, 107.0};
static int32_t prompt[] = {7, 7, 7, 7}, output[] = {3, 1, 13, 5};

static spec_request_trace trace_of_four(void)
{
    return (spec_request_trace){.n = 4,
                                .arrival = arrival,
                                .prompt = prompt,
                                .output = output,
                                .queued = queued,
                                .first_token = first,
                                .last_token = last,
                                .format = "plain"};
}

TEST(times_count_from_arrivals_on_the_clock_of_the_engine)
{
    const spec_request_trace trace = trace_of_four();
    static const double ttft[] = {1.0, 0.5, 1.0, 1.0}, latency[] = {2.0, 0.5, 7.0, 3.0},
                        tpot[] = {0.5, NAN, 0.5, 0.5};
    OWNED(spec_request_times) times;
    spec_error error = {""};
    check(spec_request_times_measured(&times, &trace, &error), &error);
    assert_int_equal(times.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_near(times.of[SPEC_TIME_FIRST_TOKEN][i], ttft[i], 1e-12);
        assert_near(times.of[SPEC_TIME_LATENCY][i], latency[i], 1e-12);
        if (isnan(tpot[i]))
            assert_true(isnan(times.of[SPEC_TIME_PER_TOKEN][i]));
        else
            assert_near(times.of[SPEC_TIME_PER_TOKEN][i], tpot[i], 1e-12);
    }
}

TEST(halves_are_every_second_request_or_the_first_in_time)
{
    const spec_request_trace trace = trace_of_four();
    static const struct {
        spec_request_split split;
        bool first;
        int n;
        double sorted[2];
    } halves[] = {{SPEC_SPLIT_ALTERNATE, true, 2, {2.0, 7.0}},
                  {SPEC_SPLIT_ALTERNATE, false, 2, {0.5, 3.0}},
                  {SPEC_SPLIT_TIME, true, 2, {0.5, 2.0}},
                  {SPEC_SPLIT_TIME, false, 2, {3.0, 7.0}}};
    OWNED(spec_request_times) times;
    spec_error error = {""};
    int64_t n;
    check(spec_request_times_measured(&times, &trace, &error), &error);
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        FREED double *sorted = spec_request_times_sorted(&n, &times, SPEC_TIME_LATENCY,
                                                         halves[i].split, halves[i].first);
        assert_int_equal(n, halves[i].n);
        for (int k = 0; k < 2; k++) assert_near(sorted[k], halves[i].sorted[k], 1e-12);
    }
    FREED double *sorted =
        spec_request_times_sorted(&n, &times, SPEC_TIME_PER_TOKEN, SPEC_SPLIT_ALTERNATE, false);
    assert_int_equal(n, 1); /* a request of one token has no time per token */
}

TEST(traces_without_times_are_refused)
{
    double back[] = {102.0, 101.5, 102.9, 107.0};
    spec_request_times times;
    for (int lacking = 0; lacking < 4; lacking++) {
        spec_request_trace trace = trace_of_four();
        *(lacking == 0   ? &trace.arrival
          : lacking == 1 ? &trace.queued
          : lacking == 2 ? &trace.first_token
                         : &trace.last_token) = NULL;
        assert_fails_with(spec_request_times_measured(&times, &trace, &error), GSL_EINVAL,
                          "without measured times");
        assert_null(times.of[0]);
    }
    spec_request_trace trace = trace_of_four();
    trace.last_token = back;
    assert_fails_with(spec_request_times_measured(&times, &trace, &error), GSL_EINVAL,
                      "request 3: its times go back");
}

/* ---- measured machines ----------------------------------------------------------------------- */

/* Costs are fitted to every second request of a real engine, and the others are predicted: means to
 * within 3 %, and 99 % quantiles to within 5 %. The limits are those of the engine. */
static void predicts_the_other_half(const char *path, int slots, int blocks)
{
    spec_error error = {""};
    OWNED(spec_request_trace) trace;
    spec_request_times measured, simulated;
    spec_length_choice *plain;
    spec_step_cost *cost;
    spec_affine_step fitted;
    double loss;
    char spec[SPEC_STEP_FIT_SPEC];
    check(spec_request_trace_load(&trace, path, &error), &error);
    assert_int_equal(trace.n, 300);
    check(spec_request_times_measured(&measured, &trace, &error), &error);
    check(spec_length_choice_create(&plain, "fixed?K=0", NULL, &error), &error);
    const spec_requests requests = {
        .arrivals = {.kind = SPEC_ARRIVALS_TRACE}, .speed = 1.0, .opt_trace = &trace};
    spec_step_fit_problem problem = {.trace = &trace, .measured = &measured};
    problem.plan = (spec_serving_plan){.requests = spec_requests_source(&requests),
                                       .lengths = plain,
                                       .slots = slots,
                                       .budget = 2048,
                                       .blocks = blocks,
                                       .block = 16,
                                       .asynchronous = true,
                                       .measured = UINT64_MAX,
                                       .keep_every = 1};
    check(spec_step_fit(&fitted, &loss, &problem, NULL, &error), &error);
    spec_step_fit_spec(spec, &fitted);
    check(spec_step_cost_create(&cost, spec, NULL, &error), &error);
    problem.plan.cost = cost;
    check(spec_request_times_simulated(&simulated, &problem.plan, trace.n, &error), &error);
    for (int k = 0; k < SPEC_TIME_KINDS; k++) {
        double value[2][2];
        for (int s = 0; s < 2; s++) {
            int64_t n;
            FREED double *sorted = spec_request_times_sorted(&n, s == 0 ? &measured : &simulated, k,
                                                             SPEC_SPLIT_ALTERNATE, false);
            assert_int_equal(n, 150);
            value[s][0] = gsl_stats_mean(sorted, 1, 150);
            value[s][1] = gsl_stats_quantile_from_sorted_data(sorted, 1, 150, 0.99);
        }
        printf("%s: %+.2f %%, 99 %%: %+.2f %%\n", spec_time_names[k],
               100.0 * (value[1][0] / value[0][0] - 1.0),
               100.0 * (value[1][1] / value[0][1] - 1.0));
        assert_true(fabs(value[1][0] / value[0][0] - 1.0) < 0.03);
        assert_true(fabs(value[1][1] / value[0][1] - 1.0) < 0.05);
    }
    spec_step_cost_free(cost);
    spec_length_choice_free(plain);
    spec_request_times_free(&measured);
    spec_request_times_free(&simulated);
}

TEST(requests_of_an_rtx_pro_6000_are_predicted)
{
    char path[4096];
    spec_test_data(path, sizeof path, "serving/RTXPRO6000_Llama-3.1-8B.jsonl");
    predicts_the_other_half(path, 128, 0);
}

/* The engine's memory is full most of the time, so requests wait for blocks and are preempted. */
TEST(requests_of_an_rtx_4090_are_predicted, SLOW)
{
    char path[4096];
    spec_test_data(path, sizeof path, "serving/RTX4090_Llama-3.1-8B.jsonl");
    predicts_the_other_half(path, 256, 2587);
}
