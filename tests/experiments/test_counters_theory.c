/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the counters of a simulated engine with their limits in closed form. */
#include "analysis/acceptance/counter_limits.h"
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

/* Settings as bits. */
enum {
    OVER_REQUESTS = 1,
    OVER_ROUNDS = 2,
    DECAY = 4,
    STAY = 8,
    STOP = 16,
    SEES = 32,
    ALL = 64, /* how many sets of these settings there are; two more settings: */
    LONG = 64,
    FLAT = 128
};

static spec_counted_engine engine_of(int settings)
{
    spec_counted_engine engine = plain_engine();
    if (settings & OVER_ROUNDS) engine.over_rounds = 2.7;
    if (settings & DECAY) engine.decay = 0.83;
    if (settings & STAY) engine.stay = 0.6;
    if (settings & STOP) engine.stop = 0.23;
    if (settings & SEES) engine.sees = 0.7;
    if (settings & LONG) engine.long_share = 0.2, engine.long_output = 310.0;
    if (settings & FLAT) engine.free_tokens = 13;
    return engine;
}

static spec_alpha_law law_of(int settings)
{
    spec_alpha_law law = {.kind = SPEC_ALPHA_ONE, .mean = 0.67, .concentration = 3.0};
    if (settings & OVER_REQUESTS) law.kind = SPEC_ALPHA_BETA;
    return law;
}

static spec_counter_limits limits_of(const spec_counted_engine *engine, const spec_alpha_law *law)
{
    double alpha[SPEC_ALPHA_NODES], share[SPEC_ALPHA_NODES];
    int n;
    spec_counter_limits limits;
    assert_int_equal(spec_alpha_law_nodes(&n, alpha, share, law, NULL), GSL_SUCCESS);
    assert_int_equal(spec_counter_limits_of(&limits, engine, share, alpha, n), GSL_SUCCESS);
    return limits;
}

/* Tests a ratio of sums over independent clusters by a normal approximation, at p = 1e-6. */
static void ratio_is(const double *x, const double *y, int n, double expected, const char *what)
{
    double sum_x = 0.0, sum_y = 0.0, square = 0.0;
    for (int i = 0; i < n; i++) {
        sum_x += x[i];
        sum_y += y[i];
    }
    for (int i = 0; i < n; i++) square += pow(x[i] - expected * y[i], 2);
    const double z = (sum_x - expected * sum_y) / sqrt(square);
    if (fabs(sum_x - expected * sum_y) < 1e-9 * sum_x) return;
    if (!(fabs(z) < 4.9)) fail_msg("%s: %g, not %g: z = %g", what, sum_x / sum_y, expected, z);
}

/* With 4000 requests the standard error of passes per round is .5 %. This rejects rounds that
 * ignore a setting, equal weights of requests, and tokens counted as accepted after the end of a
 * stopped draft. */
TEST(ratios_over_requests_are_the_limits)
{
    enum { N = 4000 };
    static spec_engine_counters c[N];
    static double x[N], y[N];
    const uint64_t seed = spec_test_seed();
    for (int i = 0; i < ALL + 2; i++) {
        const int settings = i < ALL ? i : i == ALL ? LONG : LONG | FLAT | OVER_REQUESTS;
        const spec_counted_engine engine = engine_of(settings);
        const spec_alpha_law law = law_of(settings);
        const spec_counter_limits l = limits_of(&engine, &law);
        char what[64];
        assert_int_equal(
            spec_engine_counters_requests(c, N, &engine, &law, seed, (uint64_t)settings, NULL),
            GSL_SUCCESS);
        for (int r = 0; r < N; r++) y[r] = (double)c[r].rounds;
        for (int j = 1; j <= engine.K; j++) {
            for (int r = 0; r < N; r++) x[r] = (double)spec_engine_counters_passed(&c[r], j);
            snprintf(what, sizeof what, "settings %d, depth %d", settings, j);
            ratio_is(x, y, N, l.passes[j], what);
        }
        for (int r = 0; r < N; r++) x[r] = (double)c[r].drafted;
        ratio_is(x, y, N, l.drafted, "drafted");
        for (int r = 0; r < N; r++) x[r] = (double)c[r].emitted;
        ratio_is(x, y, N, l.tokens, "emitted");
        for (int r = 0; r < N && engine.stop + engine.sees == 0.0; r++)
            assert_near(c[r].seconds, l.step * y[r], 1e-6);
    }
}

/* Uses only the first window of each of many engines, since they are stationary from the beginning.
 * Outputs are so short that the tokens at the end of a request affect its rounds. */
TEST(first_windows_have_the_limits)
{
    enum { N = 20000 };
    static const int all[] = {0, OVER_REQUESTS, OVER_REQUESTS | DECAY, OVER_REQUESTS | STOP | SEES,
                              OVER_REQUESTS | LONG};
    static double rounds[N], accepted[N], emitted[N];
    const uint64_t seed = spec_test_seed();
    for (int s = 0; s < 5; s++) {
        spec_counted_engine engine = engine_of(all[s]);
        const spec_alpha_law law = law_of(all[s]);
        engine.output = 4.0;
        const spec_counter_limits l = limits_of(&engine, &law);
        for (int i = 0; i < N; i++) {
            spec_engine_counters c;
            assert_int_equal(spec_engine_counters_windows(&c, 1, 2 * l.step, &engine, &law, seed,
                                                          (uint64_t)i, NULL),
                             GSL_SUCCESS);
            rounds[i] = (double)c.rounds;
            accepted[i] = (double)c.accepted;
            emitted[i] = (double)c.emitted;
        }
        ratio_is(accepted, rounds, N, l.accepted, "accepted");
        ratio_is(emitted, rounds, N, l.tokens, "emitted");
    }
}

TEST(windows_add_up)
{
    enum { N = 400 };
    static spec_engine_counters c[N];
    static double steps[N];
    const spec_counted_engine engine = engine_of(STOP);
    const spec_alpha_law law = law_of(0);
    const spec_counter_limits l = limits_of(&engine, &law);
    assert_int_equal(
        spec_engine_counters_windows(c, N, 0.5, &engine, &law, spec_test_seed(), 0, NULL),
        GSL_SUCCESS);
    double sum = 0.0;
    for (int i = 0; i < N; i++) {
        uint64_t rounds = 0, accepted = 0;
        for (int k = 0; k <= engine.K; k++) {
            rounds += c[i].n_accepted[k];
            accepted += (uint64_t)k * c[i].n_accepted[k];
        }
        assert_int_equal(rounds, c[i].rounds);
        assert_int_equal(rounds % (uint64_t)engine.batch, 0);
        assert_int_equal(accepted, c[i].accepted);
        assert_true(c[i].emitted <= rounds + accepted);
        assert_true(c[i].accepted <= c[i].drafted);
        assert_true(c[i].drafted <= rounds * (uint64_t)engine.K);
        assert_same(c[i].seconds, 0.5);
        steps[i] = (double)rounds / engine.batch;
        sum += steps[i];
    }
    /* The time of steps differs only by the longest draft, so their number is known within 1 %. */
    assert_near(sum * l.step, 0.5 * N, 0.01);
}

/* Windows of steps, with requests that follow one another: their sums have the limits, and
 * neighbouring windows the correlation that `kept` per request implies. 40 steps of 5 requests are
 * some 13 requests. */
TEST(kept_alphas_correlate_windows_and_leave_the_limits)
{
    enum { N = 4000 };
    static spec_engine_counters c[N];
    spec_counted_engine engine = engine_of(0);
    const spec_alpha_law law = law_of(OVER_REQUESTS);
    const spec_counter_limits l = limits_of(&engine, &law);
    double correlation[2];
    for (int kept = 0; kept <= 1; kept++) {
        double accepted = 0.0, rounds = 0.0, variance = 0.0, covariance = 0.0;
        engine.kept = kept == 1 ? 0.97 : 0.0;
        assert_int_equal(
            spec_engine_counters_steps(c, N, 40, &engine, &law, spec_test_seed(), 7, NULL),
            GSL_SUCCESS);
        for (int i = 0; i < N; i++) {
            assert_int_equal(c[i].rounds, 40 * 5);
            assert_near(c[i].seconds, 40 * l.step, 1e-9);
            accepted += (double)c[i].accepted;
            rounds += (double)c[i].rounds;
        }
        for (int i = 1; i < N; i++) {
            const double a = (double)c[i - 1].accepted / 200.0 - l.accepted;
            const double b = (double)c[i].accepted / 200.0 - l.accepted;
            variance += b * b;
            covariance += a * b;
        }
        /* 4000 windows of correlation .6 are worth 1000: a standard error of .013 */
        assert_within(accepted / rounds, l.accepted, 0.065);
        correlation[kept] = covariance / variance;
    }
    assert_true(correlation[1] > correlation[0] + 0.2);
}
