/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the serving engine with the theory of analysis/serving, over random settings. Simulation
 * and formulas share no code, so each z is standard normal if both are right. */
#include "analysis/serving/branching.h"
#include "analysis/serving/conservation.h"
#include "analysis/serving/saturation.h"
#include "analysis/serving/single_server.h"
#include "analysis/statistics/goodness.h"
#include "analysis/statistics/moments.h"
#include "sim/serving/requests/requests.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/serve/replications.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_rng.h>
#include <stdbool.h>
#include <string.h>

enum { SETTINGS = 240, RUNS = 16, SLOTS = 1 << 14 };

/* How requests arrive: at random; whenever one completes; at random to a single slot. */
typedef enum { OPEN, CLOSED, ONE_SLOT } mode;

typedef struct {
    mode mode;
    int K, slots;
    double stay, load;
    spec_requests requests;
    spec_affine_step cost;
} setting;

/* The numbers that are compared. */
enum { LATENCY, STEP, BATCH, VARIANCE, WAIT, FIRST_TOKEN, BUSY, RATE, NUMBERS };
static const char *const names[NUMBERS] = {"latency", "step",        "batch", "variance",
                                           "wait",    "first token", "busy",  "rate"};

/* ---- settings -------------------------------------------------------------------------------- */

static double between(gsl_rng *rng, double low, double high)
{
    return low + (high - low) * gsl_rng_uniform(rng);
}

/* Returns 0 in one of three cases. */
static double cost_or_0(gsl_rng *rng, double low, double high)
{
    return gsl_rng_uniform_int(rng, 3) == 0 ? 0.0 : between(rng, low, high);
}

static spec_length_law length(gsl_rng *rng, const char *const *specs, unsigned long n, int least)
{
    spec_length_law law;
    assert_int_equal(spec_length_law_init(&law, specs[gsl_rng_uniform_int(rng, n)], least, NULL),
                     GSL_SUCCESS);
    return law;
}

static void draw_setting(setting *s, int i, gsl_rng *rng)
{
    static const char *const outputs[] = {
        "2", "5", "13", "40", "uniform?low=1&high=24", "geometric?mean=9"};
    static const char *const prompts[] = {
        "0", "3", "17", "60", "uniform?low=1&high=40", "geometric?mean=20"};
    static const char *const alphas[] = {"one", "beta?concentration=4", "two?spread=0.2"};
    *s = (setting){.mode = i % 6 == 4   ? CLOSED
                           : i % 6 == 5 ? ONE_SLOT
                                        : OPEN,
                   .K = (const int[]){0, 1, 2, 3, 5}[gsl_rng_uniform_int(rng, 5)],
                   .load = between(rng, 0.05, 0.85)};
    s->slots = s->mode == CLOSED ? 1 + (int)gsl_rng_uniform_int(rng, 12)
               : s->mode == OPEN ? SLOTS
                                 : 1;
    /* Slots that begin together with equal lives never become independent. */
    const int of_equal = s->mode == CLOSED ? 4 : 0;
    s->requests.output = length(rng, outputs + of_equal, 6 - (unsigned long)of_equal, 1);
    s->requests.prompt = length(rng, prompts, 6, 0);
    assert_int_equal(spec_alpha_law_init(&s->requests.alpha, alphas[gsl_rng_uniform_int(rng, 3)],
                                         between(rng, 0.25, 0.75), NULL),
                     GSL_SUCCESS);
    s->cost = (spec_affine_step){.step = 1.0,
                                 .token = between(rng, 0.01, 0.1),
                                 .kv = cost_or_0(rng, 0.0, 0.004),
                                 .draft_round = cost_or_0(rng, 0.1, 1.0),
                                 .draft_pass = cost_or_0(rng, 0.05, 0.3),
                                 .draft_token = cost_or_0(rng, 0.01, 0.05)};
    s->stay = cost_or_0(rng, 0.1, 0.8);
    /* If rounds repeat and contexts cost time, the theorem on variances does not apply. */
    if (s->stay > 0.0) s->cost.kv = 0.0;
}

/* ---- theory ---------------------------------------------------------------------------------- */

typedef struct {
    spec_requests_law law;
    double tail[1024];
    spec_request_kind kind[SPEC_ALPHA_NODES];
    spec_request_kinds kinds;
} load;

static void load_init(load *l, const setting *s)
{
    assert_int_equal(spec_requests_law_init(&l->law, &s->requests, NULL), GSL_SUCCESS);
    assert_true(l->law.most < 1024);
    l->tail[l->law.most] = 0.0;
    for (int n = l->law.most; n-- > 0;)
        l->tail[n] = fmin(1.0, l->tail[n + 1] + l->law.output[n + 1]);
    for (int i = 0; i < l->law.n_alpha; i++)
        l->kind[i] =
            (spec_request_kind){l->law.weight[i], l->law.alpha[i],    l->tail,
                                l->law.most,      l->law.mean_prompt, l->law.mean_prompt_square};
    l->kinds = (spec_request_kinds){l->kind, l->law.n_alpha, l->law.mean_prompt > 0.0,
                                    s->K,    s->stay,        NULL};
}

/* Fills in the numbers and the rate; relaxation: the number of requests after which an engine has
 * forgotten its past. */
static void theory(double number[NUMBERS], double *ret_rate, double *ret_relaxation,
                   const setting *s)
{
    load l;
    spec_request_life shared, alone;
    const spec_request_costs of_shared = spec_request_costs_shared(&s->cost, s->K),
                             of_alone = spec_request_costs_alone(&s->cost, s->K);
    load_init(&l, s);
    assert_int_equal(spec_request_kinds_life(&shared, NULL, &l.kinds, &of_shared), GSL_SUCCESS);
    assert_int_equal(spec_request_kinds_life(&alone, NULL, &l.kinds, &of_alone), GSL_SUCCESS);
    for (int x = 0; x < NUMBERS; x++) number[x] = NAN;
    const double steps = spec_request_life_steps(&shared), extra = spec_request_life_total(&shared);
    const double draft = s->K > 0 ? s->cost.draft_round + s->cost.draft_pass * s->K : 0.0;
    if (s->mode == CLOSED) {
        const double base = s->cost.step + draft;
        number[STEP] = spec_saturation_step(base, l.kinds.prefill ? s->cost.step : base, s->slots,
                                            extra, steps);
        number[RATE] = spec_saturation_rate(s->slots, steps, number[STEP]);
        *ret_rate = 1.0;
        *ret_relaxation = 20.0 * s->slots;
    } else if (s->mode == ONE_SLOT) {
        const double mean = spec_request_life_total(&alone);
        *ret_rate = s->load / mean;
        const double square = spec_request_life_total_square(&alone);
        number[WAIT] = spec_single_server_wait(*ret_rate, mean, square);
        number[LATENCY] = spec_single_server_latency(*ret_rate, mean, square);
        number[BUSY] = s->load;
        *ret_relaxation = 2.0 / ((1.0 - s->load) * (1.0 - s->load));
    } else {
        spec_branching b;
        *ret_rate = s->load / extra;
        assert_int_equal(spec_branching_of_kinds(&b, &l.kinds, &s->cost, *ret_rate), GSL_SUCCESS);
        number[LATENCY] = b.latency;
        number[STEP] = b.step;
        number[BATCH] = b.batch;
        number[VARIANCE] = b.batch_variance;
        number[WAIT] = b.wait;
        number[FIRST_TOKEN] = b.first_token;
        if (b.busy < 0.95) number[BUSY] = b.busy; /* rare idle times are not normally distributed */
        *ret_relaxation = *ret_rate * b.latency / (1.0 - s->load);
    }
    spec_request_life_free(&shared);
    spec_request_life_free(&alone);
    spec_requests_law_free(&l.law);
}

/* ---- simulation ------------------------------------------------------------------------------ */

#define NUMBER(name, value)                                                                        \
    static double name(const void *self, const spec_serving_sums *sums)                            \
    {                                                                                              \
        (void)self;                                                                                \
        return value;                                                                              \
    }
NUMBER(latency, sums->latency / (double)sums->requests)
NUMBER(step, sums->step / (double)sums->steps)
NUMBER(batch, sums->batch / (double)sums->steps)
NUMBER(variance, sums->batch2 / (double)sums->steps - pow(sums->batch / (double)sums->steps, 2.0))
NUMBER(wait, sums->wait / (double)sums->requests)
NUMBER(first_token, sums->first_token / (double)sums->requests)
NUMBER(busy, sums->step / sums->seconds)
NUMBER(rate, (double)sums->requests / sums->seconds)
static spec_replications_statistic *const numbers[NUMBERS] = {latency, step,        batch, variance,
                                                              wait,    first_token, busy,  rate};

static void simulate(double z[NUMBERS], setting *s, uint64_t seed, uint64_t requests)
{
    double exact[NUMBERS], rate, relaxation;
    theory(exact, &rate, &relaxation, s);
    s->requests.arrivals = (spec_arrivals){SPEC_ARRIVALS_AT_ONCE, 0.0, 0.0};
    char text[200];
    if (s->mode != CLOSED)
        assert_works(spec_arrivals_init(&s->requests.arrivals, "poisson", rate, &error));
    spec_step_cost *cost;
    spec_length_choice *choice;
    char draft[200], fixed[16];
    snprintf(fixed, sizeof fixed, "fixed?K=%d", s->K);
    snprintf(text, sizeof text, "affine?step=%.17gs&token=%.17gs&kv=%.17gs", s->cost.step,
             s->cost.token, s->cost.kv);
    snprintf(draft, sizeof draft, "affine?round=%.17gs&pass=%.17gs&token=%.17gs",
             s->cost.draft_round, s->cost.draft_pass, s->cost.draft_token);
    assert_works(spec_step_cost_create(&cost, text, draft, &error));
    assert_works(spec_length_choice_create(&choice, fixed, cost, &error));
    const spec_serving_plan plan = {.requests = spec_requests_source(&s->requests),
                                    .cost = cost,
                                    .lengths = choice,
                                    .stay = s->stay,
                                    .closed = s->mode == CLOSED,
                                    .slots = s->slots,
                                    .block = 16,
                                    .warm = 100 + (uint64_t)(12.0 * relaxation),
                                    .measured = requests + (uint64_t)(30.0 * relaxation)};
    const spec_replications_plan how = {.n = RUNS, .seed = seed};
    spec_replications runs;
    assert_works(spec_replications_run(&runs, &plan, &how, &error));
    for (int i = 0; i < RUNS; i++) {
        assert_true(spec_conservation_tokens(&runs.run[i]));
        assert_true(spec_conservation_blocks(&runs.run[i]));
    }
    for (int x = 0; x < NUMBERS; x++) {
        const spec_estimate of = spec_replications_estimate(&runs, numbers[x], NULL);
        z[x] = spec_moments_z(of.mean, exact[x], of.se, of.df);
        /* Steps of a full batch without prompts take a constant time. */
        if (fabs(of.mean - exact[x]) < 1e-10 * exact[x]) z[x] = NAN;
    }
    spec_replications_free(&runs);
    spec_length_choice_free(choice);
    spec_step_cost_free(cost);
}

/* ---- the law of z ---------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void is_standard_normal(const double *z, int n, const char *name)
{
    double uniform[SETTINGS], sum = 0.0, squares = 0.0, distance, ks;
    for (int i = 0; i < n; i++) {
        uniform[i] = gsl_cdf_ugaussian_P(z[i]);
        sum += z[i];
        squares += z[i] * z[i];
    }
    qsort(uniform, (size_t)n, sizeof *uniform, by_value);
    spec_goodness_ks_uniform(&distance, &ks, uniform, (size_t)n);
    const double mean = 2.0 * gsl_cdf_ugaussian_Q(fabs(sum) / sqrt(n));
    const double upper = gsl_cdf_chisq_Q(squares, n), lower = gsl_cdf_chisq_P(squares, n);
    printf("%-11s %3d values of z: mean %+.3f (p %.3f), mean square %.3f (p %.3f), KS p %.3f\n",
           name, n, sum / n, mean, squares / n, 2.0 * fmin(upper, lower), ks);
    assert_true(mean > SPEC_TEST_P);
    assert_true(fmin(upper, lower) > SPEC_TEST_P);
    assert_true(ks > SPEC_TEST_P);
}

/* The mean square of z of latencies or waits is 5.4 if theory leaves out idle times, 3.2 if every
 * step pays for a draft, and 2.4 if all prompts have their mean length. Without a warm-up the mean
 * of z is -0.35. */
TEST(theory_and_engine_differ_by_chance_alone, SLOW | STATISTICS)
{
    const uint64_t seed = spec_test_seed();
    const uint64_t requests = spec_test_samples(500);
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus, seed);
    static double z[NUMBERS][SETTINGS];
    int n[NUMBERS] = {0};
    const int stride = spec_test_stride(1);
    for (int i = 0; i < SETTINGS / stride; i++) {
        setting s;
        double of[NUMBERS];
        draw_setting(&s, i, rng);
        simulate(of, &s, seed + (uint64_t)i, requests);
        for (int x = 0; x < NUMBERS; x++)
            if (!isnan(of[x])) z[x][n[x]++] = of[x];
    }
    for (int x = 0; x < NUMBERS; x++) is_standard_normal(z[x], n[x], names[x]);
}
