/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/branching.h"

#include "analysis/serving/capacity.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

/* Values from a Python program that sums families in another way, without prompts, KV costs and
 * idle times. Its simulations agree: 15 values of z are within 2.1. */
TEST(known_answers)
{
    static const struct {
        int K, L;
        double alpha, load;
        const char *rate, *batch, *variance, *step_ms, *wait_ms, *latency;
    } rows[] = {
        {0, 64, 0.7, 0.5, "372.02", "333.333", "661.50", "14.000", "7.01042", "0.90568"},
        {0, 64, 0.7, 0.8, "595.24", "1333.333", "6584.36", "35.000", "17.54148", "2.26418"},
        {3, 64, 0.7, 0.8, "370.74", "428.571", "2079.28", "45.000", "22.66302", "1.18912"},
        {5, 128, 0.8, 0.9, "202.91", "642.857", "6270.22", "90.000", "45.55303", "3.25695"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int K = rows[i].K;
        const spec_affine_step cost = {.step = 0.007, .token = 2.1e-5, .draft_round = 0.002};
        const spec_request_kind kind = {1.0, rows[i].alpha, NULL, rows[i].L, 0.0, 0.0};
        const spec_request_kinds kinds = {&kind, 1, false, K, 0.0, NULL};
        const spec_request_costs costs = spec_request_costs_shared(&cost, K);
        spec_rounds_law rounds;
        OWNED(spec_request_life) life;
        assert_int_equal(spec_request_kinds_life(&life, &rounds, &kinds, &costs), GSL_SUCCESS);
        const double rate = rows[i].load / spec_request_life_total(&life);
        assert_prints(rate, 2, rows[i].rate);
        spec_branching b;
        assert_int_equal(spec_branching_of_kinds(&b, &kinds, &cost, rate), GSL_SUCCESS);
        assert_near(b.load, rows[i].load, 1e-14);
        assert_prints(b.batch, 3, rows[i].batch);
        assert_prints(b.batch_variance, 2, rows[i].variance);
        assert_prints(1e3 * b.step, 3, rows[i].step_ms);
        assert_prints(1e3 * b.wait, 5, rows[i].wait_ms);
        assert_prints(b.latency, 5, rows[i].latency);
        assert_same(b.busy, 1.0);
        assert_near(b.step, spec_capacity_step(0.007 + (K > 0 ? 0.002 : 0.0), b.load, 0.0, 0.0),
                    1e-13);
        spec_rounds_law_free(&rounds);
    }
}

/* SpecDecode-Bench's fit of an H100: speed-ups of the mean latency from a simulator, as means of 8
 * runs of 20 000 requests with 256 slots. The half-widths of the 95 % intervals are given if they
 * exceed one unit in the last digit. */
TEST(known_speedups_with_prompts_and_caches)
{
    static const struct {
        double alpha, rate, speedup[3], within;
    } rows[] = {
        {0.6, 2.0, {1.224, 1.638, 1.768}, 0.001},  {0.8, 2.0, {1.378, 2.219, 2.731}, 0.001},
        {0.6, 20.0, {1.267, 1.574, 1.487}, 0.001}, {0.8, 20.0, {1.482, 2.385, 2.832}, 0.003},
        {0.6, 35.0, {1.429, 1.350, 0.490}, 0.035}, {0.8, 40.0, {2.63, 4.26, 4.07}, 0.08}};
    const spec_affine_step cost = {
        .step = 7.093e-3, .token = 2.10103129e-5, .kv = 3.92645679e-8, .draft_round = 2.13526e-3};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double plain = 0.0;
        for (int k = 0; k < 4; k++) {
            const int K = (const int[]){0, 1, 3, 5}[k];
            const spec_request_kind kind = {1.0, rows[i].alpha, NULL, 256, 512.0, 512.0 * 512.0};
            const spec_request_kinds kinds = {&kind, 1, true, K, 0.0, NULL};
            spec_branching b;
            assert_int_equal(spec_branching_of_kinds(&b, &kinds, &cost, rows[i].rate), GSL_SUCCESS);
            if (K == 0)
                plain = b.latency;
            else
                assert_within(plain / b.latency, rows[i].speedup[k - 1], rows[i].within);
        }
    }
}

/* Second route: the Markov chain of the numbers of requests in three states, which the idle engine
 * re-enters with one new request. A request begins in state 0 and moves with chance go[i] to
 * to[i][0], else to to[i][1]; 3 is the end. */
enum { MOST = 9, STATES = MOST * MOST * MOST };

typedef struct {
    double rate, base, undrafted; /* own time of a step in which a request decodes, and of others */
    bool prefill;                 /* requests in state 0 do not decode */
    double added[3], go[3];
    int to[3][2];
} chain;

typedef struct {
    spec_idle_steps steps;
    spec_branching b;
} chain_means;

static double binomial(int n, int k, double chance)
{
    double p = 1.0;
    for (int i = 0; i < k; i++) p *= chance * (n - i) / (i + 1.0);
    return p * pow(1.0 - chance, n - k);
}

static int index_of(int a, int b, int c)
{
    return (a * MOST + b) * MOST + c;
}

static double step_time(const chain *m, const int n[3])
{
    const bool decodes = n[1] + n[2] > 0 || (!m->prefill && n[0] > 0);
    double time = decodes ? m->base : m->undrafted;
    for (int i = 0; i < 3; i++) time += n[i] * m->added[i];
    return time;
}

/* One step from `at`; returns the chance that no request is left. */
static double chain_step(double *next, const double *at, const chain *m)
{
    memset(next, 0, STATES * sizeof *next);
    for (int s = 0; s < STATES; s++) {
        if (at[s] < 1e-15) continue;
        const int n[3] = {s / (MOST * MOST), s / MOST % MOST, s % MOST};
        const double arrivals = m->rate * step_time(m, n);
        double moved[MOST][MOST] = {{0.0}}; /* requests in states 1 and 2 then */
        for (int x = 0; x <= n[0]; x++)
            for (int y = 0; y <= n[1]; y++)
                for (int z = 0; z <= n[2]; z++) {
                    int then[4] = {0};
                    const int gone[3] = {x, y, z};
                    for (int i = 0; i < 3; i++) {
                        then[m->to[i][0]] += gone[i];
                        then[m->to[i][1]] += n[i] - gone[i];
                    }
                    if (then[1] >= MOST || then[2] >= MOST) continue;
                    moved[then[1]][then[2]] += binomial(n[0], x, m->go[0]) *
                                               binomial(n[1], y, m->go[1]) *
                                               binomial(n[2], z, m->go[2]);
                }
        for (int b = 0; b < MOST; b++)
            for (int c = 0; c < MOST; c++) {
                if (moved[b][c] == 0.0) continue;
                double poisson = exp(-arrivals) * at[s] * moved[b][c];
                for (int a = 0; a < MOST; a++) {
                    next[index_of(a, b, c)] += poisson;
                    poisson *= arrivals / (a + 1.0);
                }
            }
    }
    const double empty = next[0];
    next[0] = 0.0;
    next[index_of(1, 0, 0)] += empty;
    return empty;
}

static void chain_solve(chain_means *ret, const chain *m)
{
    static double memory[2][STATES];
    double *at = memory[0], *next = memory[1], empty = 0.0;
    memset(at, 0, sizeof memory[0]);
    at[index_of(1, 0, 0)] = 1.0;
    double moved = 1.0;
    for (int step = 0; moved > 1e-10; step++) {
        assert_true(step < 1000);
        empty = chain_step(next, at, m);
        moved = 0.0;
        for (int s = 0; s < STATES; s++) moved += fabs(next[s] - at[s]);
        double *swap = at;
        at = next;
        next = swap;
    }
    double new_time = 0.0, all_time = 0.0, batch2 = 0.0, total = 0.0;
    *ret = (chain_means){.steps.idle = empty};
    for (int s = 0; s < STATES; s++) {
        const int n[3] = {s / (MOST * MOST), s / MOST % MOST, s % MOST};
        const double time = step_time(m, n), all = n[0] + n[1] + n[2];
        const double batch = m->prefill ? n[1] + n[2] : all;
        if (m->prefill && m->base > m->undrafted && batch == 0.0) {
            ret->steps.undrafted += at[s];
            ret->steps.newcomers += at[s] * n[0];
        }
        total += at[s];
        ret->b.step += at[s] * time;
        ret->b.step2 += at[s] * time * time;
        ret->b.batch += at[s] * batch;
        batch2 += at[s] * batch * batch;
        ret->b.prefills += at[s] * n[0];
        new_time += at[s] * n[0] * time;
        all_time += at[s] * all * time;
    }
    assert_near(total, 1.0, 1e-8);
    ret->b.batch_variance = batch2 - ret->b.batch * ret->b.batch;
    const double cycle = ret->b.step + empty / m->rate;
    /* Requests that arrive in a step of time t wait t/2 on average. Little's law gives the rest. */
    ret->b.wait = 0.5 * ret->b.step2 / cycle;
    ret->b.first_token = ret->b.wait + new_time / ret->b.prefills;
    ret->b.latency = ret->b.wait + all_time / (m->rate * cycle);
    ret->b.busy = ret->b.step / cycle;
}

static void compare(const spec_request_kinds *kinds, const spec_affine_step *cost, const chain *m)
{
    chain_means exact;
    chain_solve(&exact, m);
    spec_idle_steps steps;
    spec_branching b;
    assert_int_equal(spec_idle_steps_solve(&steps, kinds, cost, m->rate), GSL_SUCCESS);
    assert_int_equal(spec_branching_of_kinds(&b, kinds, cost, m->rate), GSL_SUCCESS);
    assert_near(steps.idle, exact.steps.idle, 2e-7);
    assert_near(steps.undrafted, exact.steps.undrafted, 2e-7);
    assert_near(steps.newcomers, exact.steps.newcomers, 2e-7);
    assert_near(b.step, exact.b.step, 2e-7);
    assert_near(b.step2, exact.b.step2, 2e-7);
    assert_near(b.batch, exact.b.batch, 2e-7);
    assert_near(b.batch_variance, exact.b.batch_variance, 5e-7);
    assert_near(b.prefills, exact.b.prefills, 2e-7);
    assert_near(b.wait, exact.b.wait, 2e-7);
    assert_near(b.first_token, exact.b.first_token, 2e-7);
    assert_near(b.latency, exact.b.latency, 2e-7);
    assert_near(b.busy, exact.b.busy, 2e-7);

    OWNED(spec_request_life) life;
    const spec_request_costs shared = spec_request_costs_shared(cost, kinds->K);
    assert_int_equal(spec_request_kinds_life(&life, NULL, kinds, &shared), GSL_SUCCESS);
    const double extra = spec_request_life_total(&life), idle = exact.steps.idle,
                 base = m->base - (m->base - m->undrafted) * exact.steps.undrafted,
                 rounds = spec_request_life_steps(&life) - (kinds->prefill ? 1.0 : 0.0);
    assert_near(spec_capacity_step(base, m->rate * extra, extra, idle), exact.b.step, 2e-7);
    assert_near(spec_capacity_batch(m->rate, rounds, exact.b.step, idle), exact.b.batch, 2e-7);
}

static const spec_affine_step costs = {.step = 0.9,
                                       .token = 0.05,
                                       .kv = 0.03,
                                       .draft_round = 0.3,
                                       .draft_pass = 0.11,
                                       .draft_token = 0.06};

/* A prompt, then 2 tokens in rounds of K = 1: state 1 at first, and state 2 after one token.
 * Lengths are 2 and 3, or 3 alone. Wrong versions, with idle = 0 or with the draft's cost in all
 * steps, are off by 1 to 40 %. */
TEST(a_load_with_prompts_is_its_markov_chain, SLOW)
{
    enum { PROMPT = 7 };
    static const double tail[3] = {1.0, 1.0, 0.4}, alpha = 0.6;
    for (int varied = 0; varied < 2; varied++)
        for (int K = 0; K < 2; K++)
            for (int i = 0; i < 2; i++) {
                const spec_request_kind kind = {1.0, alpha,  varied ? tail : NULL,
                                                3,   PROMPT, PROMPT * PROMPT};
                const spec_request_kinds kinds = {&kind, 1, true, K, 0.0, NULL};
                const double on = (varied ? 0.4 : 1.0) * (K > 0 ? 1.0 - alpha : 1.0);
                const double round = 0.05 * (K + 1) + 0.06 * K;
                const chain m = {
                    .rate = 0.05 + 0.12 * i,
                    .base = 0.9 + (K > 0 ? 0.41 : 0.0),
                    .undrafted = 0.9,
                    .prefill = true,
                    .added = {0.05 * PROMPT, round + 0.03 * PROMPT, round + 0.03 * (PROMPT + 1)},
                    .go = {1.0, on, 1.0},
                    .to = {{1, 3}, {2, 3}, {3, 3}}};
                compare(&kinds, &costs, &m);
            }
}

/* Three tokens in rounds of K = 1; the state is the number of tokens emitted so far. Rounds may
 * repeat, but there are no KV costs, because they would make variances approximate. */
TEST(a_load_without_prompts_is_its_markov_chain)
{
    const double alpha = 0.6;
    for (int repeats = 0; repeats < 2; repeats++)
        for (int i = 0; i < 2; i++) {
            const double stay = repeats ? 0.43 : 0.0;
            spec_affine_step cost = costs;
            if (repeats) cost.kv = 0.0;
            const spec_request_kind kind = {1.0, alpha, NULL, 3, 0.0, 0.0};
            const spec_request_kinds kinds = {&kind, 1, false, 1, stay, NULL};
            const double round = 0.05 * 2 + 0.06;
            const chain m = {.rate = 0.05 + 0.12 * i,
                             .base = 0.9 + 0.41,
                             .undrafted = 0.9 + 0.41,
                             .added = {round, round + cost.kv, round + 2.0 * cost.kv},
                             .go = {1.0 - alpha, stay + (1.0 - stay) * (1.0 - alpha), 1.0},
                             .to = {{1, 2}, {2, 3}, {3, 3}}};
            compare(&kinds, &cost, &m);
        }
}

/* Second route to the variance near capacity, where the sums over families are truncated and
 * completed in closed form: the known sum over steps and lives for one added time, without pairs of
 * steps. */
TEST(variance_near_capacity_is_the_long_sum)
{
    enum { L = 12, FAR = 60000 };
    static double m[FAR + 1], sum[FAR + 1];
    const double base = 0.27, added = 0.05 * 2.0, loads[] = {0.3, 0.9, 0.99};
    const spec_affine_step cost = {.step = base, .token = 0.05};
    for (int K = 0; K < 2; K++)
        for (int i = 0; i < 3; i++) {
            const spec_request_kind kind = {1.0, 0.7, NULL, L, 0.0, 0.0};
            const spec_request_kinds kinds = {&kind, 1, false, K, 0.0, NULL};
            const spec_request_costs shared = spec_request_costs_shared(&cost, K);
            spec_rounds_law rounds;
            OWNED(spec_request_life) life;
            assert_int_equal(spec_request_kinds_life(&life, &rounds, &kinds, &shared), GSL_SUCCESS);
            const double rate = loads[i] / spec_request_life_total(&life);
            const double child = rate * added * (K + 1) / 2.0;
            double squares = 0.0;
            for (int k = 1; k <= FAR; k++) { /* m[k]: mean of a family in its step k */
                m[k] = k <= L ? rounds.longer[k - 1] : 0.0;
                for (int j = 1; j < k && j <= L; j++)
                    m[k] += child * rounds.longer[j - 1] * m[k - j];
                sum[k] = sum[k - 1] + m[k];
                for (int n = 1; n <= L; n++) { /* given N = n */
                    const double chance = rounds.longer[n - 1] - (n < L ? rounds.longer[n] : 0.0);
                    const int q = n < k - 1 ? n : k - 1;
                    const double mean = (n >= k) + child * (sum[k - 1] - sum[k - 1 - q]);
                    squares += chance * mean * mean;
                }
            }
            spec_branching b;
            const spec_idle_steps never = {0};
            assert_int_equal(spec_branching_of_life(&b, &life, rate, base, base, &never),
                             GSL_SUCCESS);
            assert_near(b.batch_variance, rate * base * squares / (1.0 - loads[i]), 1e-9);
            spec_rounds_law_free(&rounds);
        }
}

/* Returns the latency divided by E[N] base / (1 - load), which confuses the mean over steps with
 * the mean over time. */
TEST(latency_near_capacity_is_more_than_rounds_of_mean_steps)
{
    static const struct {
        spec_affine_step cost;
        double prompt;
        int output;
        const char *ratio[3];
    } rows[] = {{{7.093e-3, 2.10103129e-5, 3.92645679e-8, 2.13526e-3, 0.0, 0.0},
                 512.0,
                 256,
                 {"1.06", "1.07", "1.07"}},
                {{7.093e-3, 2.10103129e-5, 3.92645679e-8, 2.13526e-3, 0.0, 0.0},
                 8000.0,
                 16,
                 {"10.44", "12.30", "12.51"}},
                {{1e-3, 5e-3, 0.0, 0.0, 0.0, 0.0}, 0.0, 256, {"20.90", "20.89", "20.89"}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double prompt = rows[i].prompt, base = rows[i].cost.step + rows[i].cost.draft_round;
        const spec_request_kind kind = {1.0, 0.8, NULL, rows[i].output, prompt, prompt * prompt};
        const spec_request_kinds kinds = {&kind, 1, prompt > 0.0, 3, 0.0, NULL};
        const spec_request_costs shared = spec_request_costs_shared(&rows[i].cost, 3);
        spec_rounds_law rounds;
        OWNED(spec_request_life) life;
        assert_int_equal(spec_request_kinds_life(&life, &rounds, &kinds, &shared), GSL_SUCCESS);
        for (int k = 0; k < 3; k++) {
            const double load = (const double[]){0.9, 0.99, 0.999}[k];
            spec_branching b;
            assert_int_equal(spec_branching_of_kinds(&b, &kinds, &rows[i].cost,
                                                     load / spec_request_life_total(&life)),
                             GSL_SUCCESS);
            assert_prints(b.latency / (spec_rounds_law_mean(&rounds) * base / (1.0 - load)), 2,
                          rows[i].ratio[k]);
        }
        spec_rounds_law_free(&rounds);
    }
}

/* Kinds with one prompt each are exact. A single kind with both prompts differs only in the
 * probability of idle times, because contexts then vary less. With the mean prompt in place of a
 * gamma law, idle is off by 6e-5. */
TEST(one_kind_of_many_prompts_is_nearly_exact)
{
    const spec_request_kind two[2] = {{0.5, 0.6, NULL, 40, 4.0, 16.0},
                                      {0.5, 0.6, NULL, 40, 20.0, 400.0}},
                            one = {1.0, 0.6, NULL, 40, 12.0, 208.0};
    for (int i = 0; i < 4; i++) {
        spec_branching a, b;
        spec_idle_steps x, y;
        const bool reads = i < 2;
        const spec_affine_step cost = {
            .step = 0.9, .token = 0.05, .kv = reads ? 0.003 : 0.0, .draft_round = 0.3};
        const double rate = 0.006 + 0.06 * (i % 2);
        const spec_request_kinds split = {two, 2, true, 3, 0.0, NULL},
                                 whole = {&one, 1, true, 3, 0.0, NULL};
        assert_int_equal(spec_branching_of_kinds(&a, &split, &cost, rate), GSL_SUCCESS);
        assert_int_equal(spec_branching_of_kinds(&b, &whole, &cost, rate), GSL_SUCCESS);
        assert_int_equal(spec_idle_steps_solve(&x, &split, &cost, rate), GSL_SUCCESS);
        assert_int_equal(spec_idle_steps_solve(&y, &whole, &cost, rate), GSL_SUCCESS);
        assert_near(b.latency, a.latency, reads ? 1e-5 : 1e-8);
        assert_near(b.batch_variance, a.batch_variance, reads ? 3e-4 : 1e-6);
        assert_near(y.idle, x.idle, reads ? 1e-3 : 5e-6);
    }
}

TEST(outside_the_domain_is_nan)
{
    const double rising[3] = {1.0, 0.4, 0.6}, short_tail[3] = {0.9, 0.4, 0.1};
    const spec_request_kind good = {1.0, 0.6, NULL, 3, 7.0, 49.0};
    const struct {
        spec_request_kind kind;
        double rate;
        int K;
    } rows[] = {{good, 0.0, 1},
                {good, -0.1, 1},
                {good, NAN, 1},
                {good, 50.0, 1}, /* above the capacity */
                {good, 0.1, -1},
                {{0.9, 0.6, NULL, 3, 7.0, 49.0}, 0.1, 1},
                {{1.0, 1.1, NULL, 3, 7.0, 49.0}, 0.1, 1},
                {{1.0, 0.6, NULL, 0, 7.0, 49.0}, 0.1, 1},
                {{1.0, 0.6, rising, 3, 7.0, 49.0}, 0.1, 1},
                {{1.0, 0.6, short_tail, 3, 7.0, 49.0}, 0.1, 1},
                {{1.0, 0.6, NULL, 3, 7.0, 48.0}, 0.1, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const spec_request_kinds kinds = {&rows[i].kind, 1, true, rows[i].K, 0.0, NULL};
        spec_branching b;
        assert_int_equal(spec_branching_of_kinds(&b, &kinds, &costs, rows[i].rate), GSL_EDOM);
        assert_nan(b.latency);
        assert_nan(b.load);
    }
    const spec_request_kinds none = {NULL, 0, true, 1, 0.0, NULL};
    spec_branching b;
    assert_int_equal(spec_branching_of_kinds(&b, &none, &costs, 0.1), GSL_EDOM);
}
