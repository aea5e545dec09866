/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/heavy_traffic.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

typedef struct {
    spec_affine_step cost;
    double alpha, prompt;
    int K, L;
    bool geometric; /* lengths are geometric with mean L/8; otherwise all are L */
} engine;

/* The H100 of docs/formulas/serving.md; then a load with prompts, one with slow tokens, one with
 * lengths that differ, and one with a single step per request. */
#define H100                                                                                       \
    {                                                                                              \
        7.093e-3, 2.10103129e-5, 3.92645679e-8, 2.13526e-3, 0.0, 0.0                               \
    }
static const engine engines[] = {{H100, 0.8, 512.0, 3, 256, false},
                                 {H100, 0.8, 8000.0, 3, 16, false},
                                 {{.step = 1e-3, .token = 5e-3}, 0.8, 0.0, 3, 256, false},
                                 {{.step = 4e-3, .token = 1e-4}, 0.6, 0.0, 2, 400, true},
                                 {{.step = 4e-3, .token = 2e-3}, 0.8, 0.0, 0, 1, false}};
enum { ENGINES = sizeof engines / sizeof *engines, LONGEST = 1000 };

typedef struct {
    double tail[LONGEST];
    spec_request_kind kind;
    spec_request_kinds kinds;
    spec_request_life life;
    double base;
} load;

static void load_init(load *l, const engine *e)
{
    double tail = 1.0;
    for (int s = 0; s < e->L; s++, tail *= 1.0 - 8.0 / e->L) l->tail[s] = tail;
    l->kind = (spec_request_kind){1.0,  e->alpha,  e->geometric ? l->tail : NULL,
                                  e->L, e->prompt, e->prompt * e->prompt};
    l->kinds = (spec_request_kinds){&l->kind, 1, e->prompt > 0.0, e->K, 0.0, NULL};
    l->base = e->cost.step + (e->K > 0 ? e->cost.draft_round : 0.0);
    const spec_request_costs costs = spec_request_costs_shared(&e->cost, e->K);
    assert_int_equal(spec_request_kinds_life(&l->life, NULL, &l->kinds, &costs), GSL_SUCCESS);
}

static void load_free(load *l)
{
    spec_request_life_free(&l->life);
}

static void at_load(spec_heavy_traffic *ret_limit, spec_branching *ret, const load *l,
                    const engine *e, double share)
{
    const double rate = share / spec_request_life_total(&l->life);
    assert_int_equal(spec_branching_of_kinds(ret, &l->kinds, &e->cost, rate), GSL_SUCCESS);
    assert_int_equal(spec_heavy_traffic_of_life(ret_limit, &l->life, rate, l->base), GSL_SUCCESS);
}

/* The exact latency equals the limit up to a relative error in proportion to 1 - load. Without the
 * 1/2 for the rest of a step the error is .6 to 50 %. */
TEST(latency_tends_to_its_limit)
{
    for (int i = 0; i < ENGINES; i++) {
        OWNED(load) l;
        load_init(&l, &engines[i]);
        double error[2];
        for (int k = 0; k < 2; k++) {
            spec_heavy_traffic limit;
            spec_branching b;
            at_load(&limit, &b, &l, &engines[i], (const double[]){0.99, 0.999}[k]);
            error[k] = b.latency / limit.latency - 1.0;
        }
        assert_within(error[1], 0.0, 2e-3);
        assert_within(error[0] / error[1], 10.0, 0.5);
    }
}

/* The variance of the batch if idle times are rare. With beta computed from 0, it is off by 2 to 50
 * %. */
TEST(the_batch_tends_to_the_shape)
{
    for (int i = 0; i < ENGINES; i++) {
        OWNED(load) l;
        load_init(&l, &engines[i]);
        spec_heavy_traffic limit;
        spec_branching b;
        at_load(&limit, &b, &l, &engines[i], 0.999);
        if (limit.shape < 2.0) continue;
        assert_near(b.batch * b.batch / b.batch_variance, limit.shape, 3e-3);
    }
}

/* Second route to the whole law: the transform of what requests add to a step, from the
 * probabilities of a family by the recursion (H8), against that of the gamma law. Lives have 1 or 3
 * steps. The shape without beta is off by 25 % or more. */
TEST(what_requests_add_tends_to_a_gamma_law)
{
    enum { STEPS = 1000000, LIFE = 3 };
    static const double added[LIFE] = {0.05, 0.02, 0.11}, base = 0.27, one = 0.35;
    static double u[STEPS + 1];
    const double first = added[0], all = added[0] + added[1] + added[2];
    const double work = one * first + (1.0 - one) * all,
                 square = one * first * first + (1.0 - one) * all * all,
                 turn = (added[0] + (1.0 - one) * (2.0 * added[1] + 3.0 * added[2])) / work,
                 shape = 2.0 * base * turn * work / square;
    const double away[] = {1e-2, 1e-3, 1e-4}, at[] = {0.4, 1.7, 6.0};
    for (int k = 0; k < 3; k++) {
        double before = INFINITY;
        for (int i = 0; i < 3; i++) {
            const double rate = (1.0 - away[i]) / work, theta = away[i] * at[k] * shape / base;
            double sum = 0.0;
            for (int n = 0; n < STEPS; n++) {
                const double own = n == 0 ? theta * first : rate * first * u[n - 1];
                double rest = n > 0 && n < LIFE ? theta * added[n] : 0.0;
                for (int j = 1; j < LIFE && j < n; j++) rest += rate * added[j] * u[n - 1 - j];
                u[n] = -one * expm1(-own) - (1.0 - one) * expm1(-own - rest);
                sum += u[n];
                if (n > LIFE && u[n] < 1e-14) break;
            }
            const double error = rate * base * sum / (shape * log1p(at[k])) - 1.0;
            assert_true(fabs(error) < 0.2 * before);
            before = fabs(error);
        }
        assert_within(before, 0.0, 5e-4);
    }
}

/* With one step per request, (H5) is the gated queue, whose steps are an autoregression. */
TEST(the_gated_queue)
{
    OWNED(load) l;
    load_init(&l, &engines[4]);
    const double base = 4e-3, e = 2e-3;
    for (int k = 0; k < 3; k++) {
        const double share = (const double[]){0.3, 0.9, 0.99}[k], rate = share / e;
        spec_heavy_traffic limit;
        assert_int_equal(spec_heavy_traffic_of_life(&limit, &l.life, rate, base), GSL_SUCCESS);
        assert_near(limit.latency, 1.5 * (base + 0.5 * e) / (1.0 - share), 1e-14);
        assert_near(limit.shape, 2.0 * base / e, 1e-14);
        /* If the engine never idles, the latency is E[t^2]/E[t] plus the rest of a step. */
        const spec_idle_steps never = {0};
        spec_branching b;
        assert_int_equal(spec_branching_of_life(&b, &l.life, rate, base, base, &never),
                         GSL_SUCCESS);
        const double square = base / (1.0 - share) + rate * e * e / (1.0 - share * share);
        assert_near(b.step2 / b.step, square, 1e-12);
    }
}

/* If steps are short and requests long, this is processor sharing: E[w] / (1 - load), whatever the
 * law of N. */
TEST(processor_sharing)
{
    for (int i = 0; i < 2; i++) {
        engine e = engines[i == 0 ? 2 : 3];
        e.cost = (spec_affine_step){.step = 1e-9, .token = 1e-3};
        e.K = 0;
        OWNED(load) l;
        load_init(&l, &e);
        const double work = spec_request_life_total(&l.life);
        spec_heavy_traffic limit;
        assert_int_equal(spec_heavy_traffic_of_life(&limit, &l.life, 0.9 / work, 1e-9),
                         GSL_SUCCESS);
        assert_near(limit.latency, work / 0.1, 0.5 / limit.steps + 1e-6);
    }
}

/* Percentiles are given only near capacity, and their law has the exact mean. */
TEST(percentiles_are_given_near_capacity)
{
    static const struct {
        int engine;
        double load;
        bool batch, step, latency;
    } rows[] = {{0, 0.79, false, false, false},  {0, 0.81, true, true, true},
                {1, 0.99, false, false, false},  {1, 0.995, false, false, true},
                {2, 0.997, false, false, false}, {2, 0.998, false, false, true},
                {4, 0.79, false, false, false},  {4, 0.8, true, true, true}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        OWNED(load) l;
        load_init(&l, &engines[rows[r].engine]);
        spec_heavy_traffic limit;
        spec_branching b;
        at_load(&limit, &b, &l, &engines[rows[r].engine], rows[r].load);
        assert_int_equal(!isnan(spec_heavy_traffic_batch_quantile(0.9, &limit, &b)), rows[r].batch);
        assert_int_equal(!isnan(spec_heavy_traffic_step_quantile(0.9, &limit, &b)), rows[r].step);
        assert_int_equal(!isnan(spec_heavy_traffic_latency_quantile(0.9, &limit, &b, &l.life)),
                         rows[r].latency);
        if (!rows[r].latency) continue;
        double sum = 0.0;
        for (int k = 0; k < 150; k++)
            sum += spec_heavy_traffic_latency_quantile((k + 0.5) / 150.0, &limit, &b, &l.life);
        assert_within(sum / 150.0 / b.latency, 1.0, 4e-3);
    }
}

/* If a single prompt adds more than .4 of what all requests add to a step, no step times are
 * given. */
TEST(long_prompts_leave_the_gamma_law_of_steps)
{
    engine e = engines[0];
    e.prompt = 3000.0;
    e.L = 1000;
    OWNED(load) l;
    load_init(&l, &e);
    for (int k = 0; k < 2; k++) {
        spec_heavy_traffic limit;
        spec_branching b;
        at_load(&limit, &b, &l, &e, k == 0 ? 0.9 : 0.95);
        assert_int_equal(isnan(spec_heavy_traffic_step_quantile(0.5, &limit, &b)), k == 0);
        assert_int_equal(isnan(spec_heavy_traffic_batch_quantile(0.5, &limit, &b)), false);
    }
}

TEST(outside_the_domain_is_nan)
{
    OWNED(load) l;
    load_init(&l, &engines[0]);
    spec_heavy_traffic limit;
    spec_branching b;
    const double full = 1.0 / spec_request_life_total(&l.life);
    const double wrong[][2] = {{0.0, 1.0}, {full, 1.0}, {NAN, 1.0}, {0.5 * full, 0.0}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(spec_heavy_traffic_of_life(&limit, &l.life, wrong[i][0], wrong[i][1]),
                         GSL_EDOM);
        assert_nan(limit.latency);
        assert_nan(limit.shape);
    }
    at_load(&limit, &b, &l, &engines[0], 0.95);
    for (int i = 0; i < 3; i++) {
        const double q = (const double[]){0.0, 1.0, NAN}[i];
        assert_nan(spec_heavy_traffic_batch_quantile(q, &limit, &b));
        assert_nan(spec_heavy_traffic_step_quantile(q, &limit, &b));
        assert_nan(spec_heavy_traffic_latency_quantile(q, &limit, &b, &l.life));
    }
}
