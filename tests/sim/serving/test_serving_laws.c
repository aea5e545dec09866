/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the engine with queueing theory, and with laws that hold for every run. */
#include "sim/chance/rng.h"
#include "tests/support/serving_setup.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

/* ---- replications ---------------------------------------------------------------------------- */

enum { RUNS = 16, N_STATISTICS = 5 };

typedef double statistic(const spec_serving_sums *sums);

static double latency(const spec_serving_sums *s)
{
    return s->latency / (double)s->requests;
}

static double latency2(const spec_serving_sums *s)
{
    return s->latency2 / (double)s->requests;
}

static double wait(const spec_serving_sums *s)
{
    return s->wait / (double)s->requests;
}

static double tokens_per_s(const spec_serving_sums *s)
{
    return (double)s->output_tokens / s->seconds;
}

static double batch(const spec_serving_sums *s)
{
    return s->batch / (double)s->steps;
}

static double batch2(const spec_serving_sums *s)
{
    return s->batch2 / (double)s->steps;
}

static double step(const spec_serving_sums *s)
{
    return s->step / (double)s->steps;
}

static double tokens_per_step(const spec_serving_sums *s)
{
    return (double)s->emitted / (double)s->steps;
}

typedef struct {
    statistic *f;
    double expected;
} expectation;

/* Applies Student's test to each mean over independent runs, whose seed depends on `what`. */
static void check(const serving_setup *setup, const char *what, const expectation *e, int n)
{
    double sum[N_STATISTICS] = {0}, sum2[N_STATISTICS] = {0};
    const uint64_t seed = spec_rng_named_seed(spec_test_seed(), what);
    for (int r = 0; r < RUNS; r++) {
        const spec_serving_sums sums = serving_setup_sums(setup, seed, (uint64_t)r);
        for (int i = 0; i < n; i++) {
            const double d = e[i].f(&sums) - e[i].expected;
            sum[i] += d;
            sum2[i] += d * d;
        }
    }
    for (int i = 0; i < n; i++) {
        const double mean = sum[i] / RUNS;
        const double se = sqrt((sum2[i] / RUNS - mean * mean) / (RUNS - 1));
        const double t = mean / se, p = 2.0 * gsl_cdf_tdist_Q(fabs(t), RUNS - 1);
        printf("%s: %.7g, expected %.7g, t %+.2f\n", what, e[i].expected + mean, e[i].expected, t);
        if (!(p > SPEC_TEST_P)) fail_msg("%s, statistic %d: p %g", what, i, p);
    }
}

/* ---- rounds of a request --------------------------------------------------------------------- */

/* Computes the mean and the mean square of the number of rounds for L tokens, if n_accepted of
 * neighbouring rounds has correlation `stay`. chance[l][k]: l tokens are left and the last round
 * accepted k. */
typedef struct {
    double mean, square;
} rounds_law;

static rounds_law rounds_of(int L, double alpha, int K, double stay)
{
    enum { MOST = 16 };
    double law[MOST], (*chance)[MOST] = calloc((size_t)L + 1, sizeof *chance);
    double(*after)[MOST] = calloc((size_t)L + 1, sizeof *after);
    rounds_law result = {0};
    for (int k = 0; k <= K; k++) law[k] = pow(alpha, k) * (k < K ? 1.0 - alpha : 1.0);
    for (int n = 1; n <= L; n++) {
        for (int l = 0; l <= L; l++)
            for (int k = 0; k <= K; k++) after[l][k] = 0.0;
        for (int l = n == 1 ? L : 1; l <= L; l++) {
            double all = n == 1 ? 1.0 : 0.0;
            for (int k = 0; k <= K; k++) all += chance[l][k];
            for (int k = 0; k <= K; k++) {
                const double again = n == 1 ? 0.0 : stay * chance[l][k];
                const double fresh = (n == 1 ? all : (1.0 - stay) * all) * law[k];
                after[l > k ? l - k - 1 : 0][k] += again + fresh;
            }
        }
        for (int k = 0; k <= K; k++) {
            result.mean += n * after[0][k];
            result.square += (double)n * n * after[0][k];
        }
        double(*kept)[MOST] = chance;
        chance = after;
        after = kept;
        for (int k = 0; k <= K; k++) chance[0][k] = 0.0;
    }
    free(chance);
    free(after);
    return result;
}

static double mean_emitted(double alpha, int K)
{
    double mean = 0.0;
    for (int k = 0; k <= K; k++) mean += pow(alpha, k);
    return mean;
}

/* ---- one slot -------------------------------------------------------------------------------- */

TEST(one_closed_slot_has_the_latency_of_its_rounds, STATISTICS)
{
    static const double stay[] = {0.0, 0.6};
    for (int i = 0; i < 2; i++) {
        OWNED(serving_setup) s;
        serving_setup_init(&s, "step=10ms,token=1ms", "pass=2ms", "fixed?K=4", 64, 0.8);
        s.plan.stay = stay[i];
        s.plan.measured = 5000;
        const double t = 0.010 + 5 * 0.001 + 4 * 0.002;
        const rounds_law N = rounds_of(64, 0.8, 4, stay[i]);
        const expectation e[] = {
            {latency, N.mean * t}, {latency2, N.square * t * t}, {tokens_per_s, 64 / (N.mean * t)}};
        check(&s, stay[i] > 0.0 ? "correlated rounds" : "rounds", e, 2);
    }
}

/* ---- contexts -------------------------------------------------------------------------------- */

static double accepted_per_request(const spec_serving_sums *s)
{
    return (double)s->accepted / (double)s->requests;
}

static double rounds_per_request(const spec_serving_sums *s)
{
    return (double)s->rounds / (double)s->requests;
}

/* Compares acceptance by context, and K by context, with enumeration of a request's rounds from its
 * last token backwards. A round that used the context after it, or only the prompt, would be off by
 * more than 20 standard errors. */
TEST(rounds_are_those_of_their_contexts, STATISTICS)
{
    enum { L = 60 };
    static const struct {
        const char *lengths, *K;
        int prompt;
    } row[] = {{"fixed?K=4", "4", 0},
               {"fixed?K=4", "4", 30},
               {"context?of=5@0/2@40/0@70/3@80", "5@0/2@40/0@70/3@80", 0},
               {"context?of=5@0/2@40/0@70/3@80", "5@0/2@40/0@70/3@80", 30}};
    spec_context_steps alpha, K;
    assert_works(spec_context_steps_parse(&alpha, "", "0.9@0/0.61@38/0.27@75", 0.0, 1.0, &error));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWNED(serving_setup) s;
        double rounds[L + 1] = {0}, accepted[L + 1] = {0};
        const int prompt = row[i].prompt, decoded = prompt > 0 ? L - 1 : L;
        char what[64];
        assert_works(spec_context_steps_parse(&K, "", row[i].K, 0.0, 9.0, &error));
        serving_setup_init(&s, "step=10ms", "round=0", row[i].lengths, L, 1.0);
        s.requests.prompt[0] = s.requests.prompt[1] = prompt;
        s.plan.opt_alpha = &alpha;
        s.plan.measured = 4000;
        for (int left = 1; left <= decoded; left++) {
            const int context = prompt + decoded - left,
                      most = (int)spec_context_steps_at(&K, context);
            const double a = spec_context_steps_at(&alpha, context);
            rounds[left] = 1.0;
            for (int n = 0; n <= most; n++) {
                const double chance = pow(a, n) * (n < most ? 1.0 - a : 1.0);
                const int then = left > n + 1 ? left - n - 1 : 0;
                rounds[left] += chance * rounds[then];
                accepted[left] += chance * (n + accepted[then]);
            }
        }
        snprintf(what, sizeof what, "contexts, row %zu", i);
        const expectation e[] = {{rounds_per_request, rounds[decoded]},
                                 {accepted_per_request, accepted[decoded]}};
        check(&s, what, e, 2);
    }
}

/* Pollaczek and Khinchine's formula; the latencies come from an independent program. */
TEST(one_open_slot_is_an_mg1_queue, SLOW | STATISTICS)
{
    static const struct {
        int K, L;
        double alpha, load, latency;
    } row[] = {{0, 64, 0.8, 0.7, 1.525333},
               {4, 64, 0.8, 0.7, 0.978059},
               {4, 64, 0.8, 0.9, 2.490854},
               {4, 16, 0.5, 0.5, NAN}};
    for (int i = 0; i < 4; i++) {
        OWNED(serving_setup) s;
        char lengths[32], what[32];
        snprintf(lengths, sizeof lengths, "fixed?K=%d", row[i].K);
        serving_setup_init(&s, "step=10ms,token=1ms", "pass=2ms", lengths, row[i].L, row[i].alpha);
        const double t = 0.010 + (row[i].K + 1) * 0.001 + row[i].K * 0.002;
        const rounds_law N = rounds_of(row[i].L, row[i].alpha, row[i].K, 0.0);
        const double rate = row[i].load / (N.mean * t);
        const double waits = rate * N.square * t * t / (2.0 * (1.0 - row[i].load));
        s.requests.rate = rate;
        s.plan.closed = false;
        s.plan.warm = 4000;
        s.plan.measured = spec_test_samples(30000);
        const expectation e[] = {{wait, waits}, {latency, waits + N.mean * t}};
        if (row[i].latency > 0.0) assert_true(fabs(e[1].expected - row[i].latency) < 1e-6);
        snprintf(what, sizeof what, "M/G/1, row %d", i);
        check(&s, what, e, 2);
    }
}

/* ---- full batches ---------------------------------------------------------------------------- */

TEST(full_batches_give_tokens_in_the_ratio_of_means, STATISTICS)
{
    OWNED(serving_setup) s;
    serving_setup_init(&s, "step=7ms,token=21us", "round=2ms", "fixed?K=3", 128, 0.7);
    s.plan.slots = 16;
    s.plan.warm = 2000;
    s.plan.measured = spec_test_samples(10000);
    const double t = 0.009 + 16 * 4 * 21e-6;
    const rounds_law N = rounds_of(128, 0.7, 3, 0.0);
    const expectation e[] = {{tokens_per_s, 16 * 128 / (N.mean * t)}};
    assert_true(fabs(e[0].expected - 3885.555) < 1e-3);
    check(&s, "full batch", e, 1);

    /* Alphas are uniform in [.2, 1], and E[N] is a mean over requests, by the midpoint rule. */
    double mean = 0.0;
    for (int i = 0; i < 100; i++) mean += rounds_of(128, 0.2 + 0.8 * (i + 0.5) / 100, 3, 0.0).mean;
    s.requests.alpha[0] = 0.2;
    s.requests.alpha[1] = 1.0;
    const expectation mixed[] = {{tokens_per_s, 16 * 128 / (mean / 100 * t)}};
    check(&s, "full batch of many alphas", mixed, 1);
}

/* ---- no limits ------------------------------------------------------------------------------- */

/* The branching process of docs/formulas/serving.md, whose values are known answers of an
 * independent program: E[B], Var(B), E[t], wait, latency. */
TEST(unlimited_batches_are_a_branching_process, SLOW | STATISTICS)
{
    static const struct {
        int K, L;
        double alpha, rate, value[5];
    } row[] = {
        {0, 64, 0.7, 372.0238, {333.333, 661.50, 0.014, 0.00701042, 0.905678}},
        {0, 64, 0.7, 595.2381, {1333.33, 6584.36, 0.035, 0.0175415, 2.26418}},
        {3, 64, 0.7, 370.74, {428.571, 2079.28, 0.045, 0.022663, 1.18912}},
    };
    for (int i = 0; i < 3; i++) {
        OWNED(serving_setup) s;
        char lengths[32], what[32];
        snprintf(lengths, sizeof lengths, "fixed?K=%d", row[i].K);
        serving_setup_init(&s, "step=7ms,token=21us", "round=2ms", lengths, row[i].L, row[i].alpha);
        s.requests.rate = row[i].rate;
        s.plan.closed = false;
        s.plan.slots = 1 << 20;
        s.plan.warm = 20000;
        s.plan.measured = spec_test_samples(60000);
        static statistic *const f[] = {batch, batch2, step, wait, latency};
        expectation e[5];
        for (int k = 0; k < 5; k++) e[k] = (expectation){f[k], row[i].value[k]};
        e[1].expected += row[i].value[0] * row[i].value[0]; /* a run's own variance is biased */
        snprintf(what, sizeof what, "branching, row %d", i);
        check(&s, what, e, 5);
    }
}

/* ---- drafts ahead ---------------------------------------------------------------------------- */

/* One life of B requests, so long that its beginning does not matter. */
static serving_setup *ahead(int B, bool rides)
{
    static serving_setup s;
    serving_setup_init(&s, "step=1s", "pass=0.1s", "fixed?K=4", 100000, 0.9);
    s.plan.slots = B;
    s.plan.warm = 0;
    s.plan.measured = (uint64_t)B; /* to the first completion */
    s.plan.place = SPEC_DRAFT_AHEAD;
    s.plan.guess = 0.8;
    s.plan.miss_rides = rides;
    return &s;
}

TEST(a_step_waits_unless_all_drafts_ahead_hit, STATISTICS)
{
    static const double gain[] = {1.176, 1.085, 1.022, 1.002};
    const double hit = pow(0.9, 4) * 0.8;
    for (int i = 0; i < 4; i++) {
        const double expected = 1.0 + (1.0 - pow(hit, 1 << i)) * 0.4;
        assert_true(fabs(1.4 / expected - gain[i]) < 5e-4);
        serving_setup *s = ahead(1 << i, false);
        check(s, "ahead", (const expectation[]){{step, expected}}, 1);
        serving_setup_free(s);
    }
}

TEST(requests_that_missed_ride_until_they_hit, STATISTICS)
{
    const double hit = pow(0.9, 4) * 0.8, guess = 0.8;
    const double drafted = guess / (guess + 1.0 - hit); /* share of rounds that have a draft */
    const double tokens = drafted * mean_emitted(0.9, 4) + 1.0 - drafted;
    serving_setup *s = ahead(4, true);
    check(s, "riding", (const expectation[]){{tokens_per_step, 4 * tokens}}, 1);
    const spec_serving_sums sums = serving_setup_sums(s, 42, 0);
    assert_true(sums.step == (double)sums.steps); /* max(1, 5 passes) */
    serving_setup_free(s);
}

/* ---- laws of every run ----------------------------------------------------------------------- */

static double off(double a, double b)
{
    return fabs(a - b) / fmax(fabs(a), fabs(b));
}

/* The run from empty to empty, and a part of it with requests under way at both ends. */
TEST(tokens_blocks_and_time_are_conserved)
{
    static const char *const lengths[] = {"fixed?K=0", "fixed?K=3", "goodput?K_max=5",
                                          "schedule:[[1,8,4],[9,64,2]]"};
    for (int i = 0; i < 80; i++) {
        OWNED(serving_setup) s;
        serving_setup_init(&s, "step=7ms,token=21us,kv=39ns", "round=2ms,pass=1ms,token=3us",
                           lengths[i % 4], 1, 0.0);
        s.requests = (drawn_requests){.rate = 5.0 + i % 40,
                                      .prompt = {0, i % 3 == 0 ? 0 : 500},
                                      .output = {1, 300},
                                      .alpha = {0.3, 1.0},
                                      .most = 500};
        const bool whole = i < 40;
        s.plan.closed = i % 5 == 4;
        s.plan.slots = 40;
        s.plan.warm = whole ? 0 : 150;
        s.plan.measured = whole ? UINT64_MAX : 60;
        if (i % 2 == 0) s.plan.budget = 512;
        if (i % 3 == 0) s.plan.blocks = 120;
        s.plan.stay = i % 7 == 0 ? 0.5 : 0.0;
        s.plan.asynchronous = i % 11 == 0;
        const spec_serving_sums r = serving_setup_sums(&s, 42, (uint64_t)i);
        assert_true(r.requests == (whole ? 500 : 60) && (int64_t)r.emitted == r.written);
        assert_true(r.emitted == r.rounds + r.accepted - r.cut + r.first);
        assert_true(r.blocks_taken == r.blocks_freed + (uint64_t)r.blocks_kept);
        assert_true((r.blocks_taken > 0) == (s.plan.blocks > 0));
        assert_true(off(r.in_system, r.present) < 1e-9); /* Little */
        const double fixed =
            7e-3 * (double)r.steps + 2e-3 * (double)r.drafting + 1e-3 * (double)r.passes;
        assert_true(off(r.step, fixed + r.extra) < 1e-9);
        assert_true(r.step <= r.seconds * (1 + 1e-12));
        if (!whole) continue;
        assert_true(r.emitted == r.output_tokens && r.blocks_kept == 0);
        assert_true(off(r.latency, r.present) < 1e-9);
    }
}
