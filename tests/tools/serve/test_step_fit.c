/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/step_fit.h"

#include "sim/chance/rng.h"
#include "sim/serving/requests/requests.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

/* A simulated engine takes the place of the measured one, so that its costs are known. Tolerances
 * are about 1.4 times the largest errors over seeds 1 to 100. */

enum { REQUESTS = 200 };
static const spec_affine_step truth = {.step = 0.0083, .token = 41e-6, .kv = 127e-9};

typedef struct {
    double arrival[REQUESTS];
    int32_t prompt[REQUESTS], output[REQUESTS];
    spec_request_trace trace;
    spec_requests requests;
    spec_length_choice *plain;
    spec_request_times measured;
    spec_step_fit_problem problem;
} engine;

static void check(int status, const spec_error *error)
{
    if (status != GSL_SUCCESS) fail_msg("%s", error->text);
}

static void measure(engine *e)
{
    char spec[SPEC_STEP_FIT_SPEC];
    spec_error error = {""};
    spec_step_cost *cost;
    spec_serving_plan plan = e->problem.plan;
    spec_step_fit_spec(spec, &truth);
    check(spec_step_cost_create(&cost, spec, NULL, &error), &error);
    plan.cost = cost;
    check(spec_request_times_simulated(&e->measured, &plan, REQUESTS, &error), &error);
    spec_step_cost_free(cost);
}

static gsl_rng *generator(uint64_t stream)
{
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    assert_non_null(rng);
    spec_rng_stream(rng, spec_test_seed(), stream);
    return rng;
}

/* The engine is full at first and empty at the end; its memory is short if `blocks` is not 0. */
static void begin(engine *e, int blocks)
{
    spec_error error = {""};
    gsl_rng *rng = generator(0);
    *e = (engine){0};
    for (int i = 0; i < REQUESTS; i++) {
        e->arrival[i] = i == 0 ? 0.0 : e->arrival[i - 1] + gsl_ran_exponential(rng, 0.07);
        e->prompt[i] = 20 + (int)gsl_rng_uniform_int(rng, 700);
        e->output[i] = 30 + (int)gsl_rng_uniform_int(rng, 200);
    }
    gsl_rng_free(rng);
    e->trace = (spec_request_trace){.n = REQUESTS,
                                    .arrival = e->arrival,
                                    .prompt = e->prompt,
                                    .output = e->output,
                                    .format = "plain"};
    e->requests = (spec_requests){
        .arrivals = {.kind = SPEC_ARRIVALS_TRACE}, .speed = 1.0, .opt_trace = &e->trace};
    check(spec_length_choice_create(&e->plain, "fixed?K=0", NULL, &error), &error);
    e->problem.trace = &e->trace;
    e->problem.measured = &e->measured;
    e->problem.plan = (spec_serving_plan){.requests = spec_requests_source(&e->requests),
                                          .lengths = e->plain,
                                          .slots = 24,
                                          .budget = 512,
                                          .blocks = blocks,
                                          .block = 16,
                                          .measured = UINT64_MAX,
                                          .keep_every = 1};
    measure(e);
}

static void engine_free(engine *e)
{
    spec_request_times_free(&e->measured);
    spec_length_choice_free(e->plain);
}

/* Returns the relative error of the time of a full step with a mean context. */
static double full_step_error(const spec_affine_step *cost)
{
    static const spec_step_work full = {.decode_tokens = 24, .kv_tokens = 24 * 450};
    return spec_affine_step_target(cost, &full) / spec_affine_step_target(&truth, &full) - 1.0;
}

/* If the schedule of a single request differs, its times differ by whole steps, so costs near the
 * true ones may fit worse than others, above all if memory is short. */
TEST(known_costs_are_recovered, SLOW)
{
    for (int split = 0; split < 2; split++)
        for (int blocks = 0; blocks <= 700 * (split == 0); blocks += 700) {
            OWNED(engine) e;
            spec_error error = {""};
            spec_affine_step cost;
            double loss;
            begin(&e, blocks);
            e.problem.split = split;
            check(spec_step_fit(&cost, &loss, &e.problem, NULL, &error), &error);
            assert_within(full_step_error(&cost), 0.0, blocks == 0 ? 0.03 : 0.1);
            if (blocks == 0 && split == SPEC_SPLIT_ALTERNATE) {
                assert_near(cost.step, truth.step, 0.04);
                assert_near(cost.token, truth.token, 0.11);
                assert_near(cost.kv, truth.kv, 0.35);
            }
            assert_true(loss < 9e-4);
            assert_true(cost.draft_round == 0.0 && cost.draft_pass == 0.0);
        }
}

/* Returns the mean of one half of the requests. */
static double mean_of(const spec_request_times *times, spec_time_kind kind, bool first)
{
    int64_t n;
    double sum = 0.0;
    FREED double *sorted = spec_request_times_sorted(&n, times, kind, SPEC_SPLIT_ALTERNATE, first);
    assert_non_null(sorted);
    assert_int_equal(n, REQUESTS / 2);
    for (int64_t i = 0; i < n; i++) {
        assert_true(i == 0 || sorted[i] >= sorted[i - 1]);
        sum += sorted[i];
    }
    return sum / (double)n;
}

TEST(the_other_half_is_predicted)
{
    OWNED(engine) e;
    spec_error error = {""};
    spec_affine_step cost;
    spec_request_times predicted;
    double loss;
    char spec[SPEC_STEP_FIT_SPEC];
    spec_step_cost *fitted;
    begin(&e, 700);
    check(spec_step_fit(&cost, &loss, &e.problem, NULL, &error), &error);
    spec_step_fit_spec(spec, &cost);
    check(spec_step_cost_create(&fitted, spec, NULL, &error), &error);
    spec_serving_plan plan = e.problem.plan;
    plan.cost = fitted;
    check(spec_request_times_simulated(&predicted, &plan, REQUESTS, &error), &error);
    static const double tolerance[] = {0.07, 0.012, 0.03};
    for (int k = 0; k < SPEC_TIME_KINDS; k++)
        assert_near(mean_of(&predicted, k, false), mean_of(&e.measured, k, false), tolerance[k]);
    spec_request_times_free(&predicted);
    spec_step_cost_free(fitted);
}

/* Every time has an error of 2 %, and of 20 requests one is twice as slow and one twice as fast. */
TEST(noise_and_outliers_move_the_costs_little)
{
    OWNED(engine) e;
    spec_error error = {""};
    spec_affine_step cost;
    double loss, of_truth;
    begin(&e, 0);
    gsl_rng *rng = generator(1);
    for (int64_t i = 0; i < REQUESTS; i++)
        for (int k = 0; k < SPEC_TIME_KINDS; k++)
            e.measured.of[k][i] *= i % 20 == 2    ? 2.0
                                   : i % 20 == 12 ? 0.5
                                                  : 1.0 + gsl_ran_gaussian(rng, 0.02);
    gsl_rng_free(rng);
    check(spec_step_fit(&cost, &loss, &e.problem, NULL, &error), &error);
    check(spec_step_fit_loss(&of_truth, &e.problem, &truth, &error), &error);
    assert_within(full_step_error(&cost), 0.0, 0.07);
    assert_near(cost.step, truth.step, 0.14);
    assert_near(cost.token, truth.token, 0.27);
    assert_true(loss <= 1.015 * of_truth);
}

/* A fit cannot make up for a scheduler that the engine does not have. */
TEST(an_engine_without_its_memory_limit_does_not_fit)
{
    OWNED(engine) e;
    spec_error error = {""};
    spec_affine_step cost;
    double loss;
    begin(&e, 300);
    e.problem.plan.blocks = 0;
    check(spec_step_fit(&cost, &loss, &e.problem, NULL, &error), &error);
    assert_true(loss > 0.01);
}

/* The times of the other half are not read. */
TEST(the_fit_sees_one_half_alone)
{
    OWNED(engine) e;
    spec_error error = {""};
    begin(&e, 0);
    for (int split = 0; split < 2; split++) {
        double loss[2];
        e.problem.split = split;
        check(spec_step_fit_loss(&loss[0], &e.problem, &truth, &error), &error);
        for (int64_t i = 0; i < REQUESTS; i++)
            for (int k = 0; k < SPEC_TIME_KINDS; k++)
                if (!spec_request_split_first(split, i, REQUESTS)) e.measured.of[k][i] *= 3.0;
        check(spec_step_fit_loss(&loss[1], &e.problem, &truth, &error), &error);
        assert_true(loss[0] == loss[1]);
        for (int64_t i = 0; i < REQUESTS; i++)
            for (int k = 0; k < SPEC_TIME_KINDS; k++)
                if (!spec_request_split_first(split, i, REQUESTS)) e.measured.of[k][i] /= 3.0;
        e.measured.of[SPEC_TIME_LATENCY][0] *= 3.0; /* request 0 belongs to both first halves */
        check(spec_step_fit_loss(&loss[1], &e.problem, &truth, &error), &error);
        assert_true(loss[1] > loss[0] + 1e-5);
        e.measured.of[SPEC_TIME_LATENCY][0] /= 3.0;
    }
}

TEST(a_trace_of_single_tokens_has_nothing_to_fit)
{
    OWNED(engine) e;
    spec_affine_step cost;
    double loss;
    begin(&e, 0);
    for (int i = 0; i < REQUESTS; i++) {
        e.output[i] = 1;
        e.measured.of[SPEC_TIME_LATENCY][i] = e.measured.of[SPEC_TIME_FIRST_TOKEN][i];
    }
    assert_fails_with(spec_step_fit(&cost, &loss, &e.problem, NULL, &error), GSL_EINVAL,
                      "no request has time");
}

/* Errors are relative to these. */
TEST(times_of_0_are_refused)
{
    OWNED(engine) e;
    spec_affine_step cost;
    double loss;
    begin(&e, 0);
    for (int i = 0; i < REQUESTS; i++) e.measured.of[SPEC_TIME_FIRST_TOKEN][i] = 0.0;
    assert_fails_with(spec_step_fit(&cost, &loss, &e.problem, NULL, &error), GSL_EINVAL,
                      "no cost fits");
}

TEST(a_fit_can_be_interrupted)
{
    const volatile int stop = 1;
    OWNED(engine) e;
    spec_affine_step cost;
    double loss;
    begin(&e, 0);
    assert_fails(spec_step_fit(&cost, &loss, &e.problem, &stop, &error), GSL_EFAILED,
                 "interrupted");
}
