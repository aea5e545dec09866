/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/counted_cases.h"

#include "base/memory_text.h"
#include "tests/support/near.h"
#include "tests/support/read_lines.h"
#include "tests/support/support.h"
#include "tools/advise/log_format.h"

#include <string.h>

enum { N = 40 };

static spec_counted_case case_of(const char *kind)
{
    spec_counted_case c = {
        .engine = {.output = 50.0, .batch = 4, .cost = {.step = 0.01, .draft_pass = 1e-3}}};
    assert_works(spec_counted_case_kind(&c, kind, 0.7, &error));
    return c;
}

/* The log of a run, and the counters behind it. */
static char *text_of(spec_engine_counters c[N], const spec_counted_case *of,
                     const spec_counted_run *run)
{
    spec_counted_engine engine = of->engine;
    spec_memory_text text;
    const uint64_t stream = 2 * run->stream;
    engine.K = run->K;
    assert_true(spec_memory_text_open(&text));
    assert_works(spec_counted_case_write(text.out, of, run, &error));
    assert_works(
        run->log == SPEC_COUNTED_VLLM
            ? spec_engine_counters_windows(c, N, run->seconds, &engine, &of->alpha, run->seed,
                                           stream, &error)
        : run->log == SPEC_COUNTED_SGLANG
            ? spec_engine_counters_steps(c, N, SPEC_COUNTED_LOG_STEPS, &engine, &of->alpha,
                                         run->seed, stream, &error)
            : spec_engine_counters_requests(c, N, &engine, &of->alpha, run->seed, stream, &error));
    return spec_memory_text_take(&text, NULL);
}

static const spec_log_format *const readers[] = {&spec_reader_vllm_log, &spec_reader_sglang_log,
                                                 &spec_reader_llamacpp_response};

/* Returns the observations that the reader of a log takes from it. */
static read_lines observe(spec_engine_counters c[N], const char *kind, spec_counted_log log, int K)
{
    const spec_counted_case of = case_of(kind);
    const spec_counted_run run = {log, K, N, 10.0, 42, 3};
    static read_lines r;
    FREED char *text = text_of(c, &of, &run);
    assert_non_null(text);
    read_lines_with(&r, readers[log], text, log == SPEC_COUNTED_LLAMACPP && K > 0 ? K : -1);
    if (r.status != GSL_SUCCESS) fail_msg("%s", r.error.text);
    assert_int_equal(r.n, N);
    return r;
}

TEST(each_kind_sets_its_own_number)
{
    const spec_counted_case one = case_of("one"), requests = case_of("requests?concentration=3"),
                            rounds = case_of("rounds?concentration=3"), decay = case_of("decay"),
                            correlated = case_of("correlated"), stop = case_of("stop?chance=0.3"),
                            sees = case_of("sees"), drift = case_of("drift?by=-0.2"),
                            two = case_of("two?spread=0.3");
    assert_true(two.alpha.kind == SPEC_ALPHA_TWO && two.alpha.spread == 0.3);
    assert_true(one.alpha.kind == SPEC_ALPHA_ONE && one.engine.decay == 1.0 && isnan(one.after));
    assert_true(requests.alpha.kind == SPEC_ALPHA_BETA && requests.alpha.concentration == 3.0);
    assert_same(rounds.engine.over_rounds, 3.0);
    assert_same(decay.engine.decay, 0.9);
    assert_same(correlated.engine.stay, 0.7);
    assert_same(stop.engine.stop, 0.3);
    assert_same(sees.engine.sees, 0.5);
    assert_near(drift.after, 0.5, 1e-15);
}

TEST(wrong_kinds_are_refused)
{
    static const char *const wrong[][2] = {{"request", "did you mean 'requests'?"},
                                           {"one?stay=1", "stay"},
                                           {"decay?rate=0", "rate"},
                                           {"correlated?stay=1", "stay"},
                                           {"", ""}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spec_counted_case c;
        spec_error error = {""};
        assert_int_not_equal(spec_counted_case_kind(&c, wrong[i][0], 0.7, &error), GSL_SUCCESS);
        if (strstr(error.text, wrong[i][1]) == NULL) fail_msg("%s", error.text);
    }
}

/* For a window of some 950 rounds each share is printed with three digits. Several numbers of
 * rounds may agree with them, and counts by depth are as uncertain. */
TEST(a_reader_of_vllm_finds_the_counters_again)
{
    spec_engine_counters c[N];
    const read_lines r = observe(c, "stop", SPEC_COUNTED_VLLM, 3);
    for (int i = 0; i < N; i++) {
        const spec_observation *o = &r.observation[i];
        assert_int_equal(o->K, 3);
        assert_same(o->accepted, (double)c[i].accepted);
        assert_same(o->drafted, (double)c[i].drafted);
        assert_true(o->rounds_low <= (double)c[i].rounds && (double)c[i].rounds <= o->rounds_high);
        assert_near(o->rounds, (double)c[i].rounds, 0.004);
        for (int j = 1; j <= 3; j++)
            assert_within(o->passed[j - 1], (double)spec_engine_counters_passed(&c[i], j), 4.0);
        assert_same(o->seconds, 10.0);
        if (i > 0) assert_same(o->running, 4.0);
        /* first tokens and cut ones are about 1 % each */
        assert_near(o->emitted, (double)(c[i].begun + c[i].emitted), 0.05);
    }
}

TEST(a_reader_of_sglang_finds_the_counters_again)
{
    spec_engine_counters c[N];
    const read_lines r = observe(c, "requests", SPEC_COUNTED_SGLANG, 3);
    for (int i = 0; i < N; i++) {
        const spec_observation *o = &r.observation[i];
        assert_int_equal(o->K, 3);
        assert_same(o->rounds, (double)c[i].rounds);
        assert_same(o->running, 4.0);
        assert_within(o->accepted / o->rounds, (double)c[i].accepted / (double)c[i].rounds,
                      0.005 + 1e-9);
        if (i > 0) assert_near(o->seconds, c[i].seconds, 0.005); /* from two printed numbers */
    }
}

TEST(a_reader_of_llamacpp_finds_the_counters_again)
{
    spec_engine_counters c[N];
    const read_lines r = observe(c, "requests", SPEC_COUNTED_LLAMACPP, 3);
    for (int i = 0; i < N; i++) {
        const spec_observation *o = &r.observation[i];
        assert_int_equal(o->K, 3);
        assert_same(o->accepted, (double)c[i].accepted);
        assert_same(o->drafted, (double)c[i].drafted);
        assert_within(o->seconds, c[i].seconds, 1e-6);
    }
}

TEST(plain_logs_are_read_as_plain_decoding)
{
    for (int log = SPEC_COUNTED_VLLM; log <= SPEC_COUNTED_LLAMACPP; log++) {
        spec_engine_counters c[N];
        const read_lines r = observe(c, "one", (spec_counted_log)log, 0);
        for (int i = 0; i < N; i++) {
            const spec_observation *o = &r.observation[i];
            const double rounds = (double)c[i].rounds;
            assert_int_equal(o->K, 0);
            assert_int_equal(o->depths, 0);
            assert_same(o->accepted, 0.0);
            /* vLLM counts first tokens, which are 2 % here; llama.cpp counts one per request */
            if (log == SPEC_COUNTED_LLAMACPP)
                assert_within(o->emitted, rounds, 1.0);
            else
                assert_near(o->emitted, rounds, 0.06);
        }
    }
}

/* Drafts of 3 tokens: a share of 1, .7 and .49 of the rounds tests them. */
static double alpha_of(const spec_engine_counters *c, int n)
{
    double accepted = 0.0, tested = 0.0;
    for (int i = 0; i < n; i++) {
        accepted += (double)c[i].accepted;
        tested += (double)(c[i].rounds + spec_engine_counters_passed(&c[i], 1) +
                           spec_engine_counters_passed(&c[i], 2));
    }
    return accepted / tested;
}

/* The second half of a log comes from another engine, whose acceptance shows in the log. */
TEST(drift_is_in_the_middle)
{
    spec_engine_counters c[N];
    spec_counted_case of = case_of("drift?by=-0.2");
    const spec_counted_run run = {SPEC_COUNTED_VLLM, 3, N, 10.0, 42, 3};
    static read_lines r;
    FREED char *text = text_of(c, &of, &run);
    read_lines_with(&r, &spec_reader_vllm_log, text, -1);
    assert_int_equal(r.n, N);
    double accepted[2] = {0.0}, rounds[2] = {0.0};
    for (int i = 0; i < N; i++) {
        accepted[i >= N / 2] += r.observation[i].accepted;
        rounds[i >= N / 2] += r.observation[i].rounds;
    }
    assert_within(alpha_of(c, N), 0.7, 0.01);
    assert_within(accepted[0] / rounds[0], 0.7 + 0.49 + 0.343, 0.02);
    assert_within(accepted[1] / rounds[1], 0.5 + 0.25 + 0.125, 0.02);
}

TEST(limits_of_a_drift_are_the_means_of_its_halves)
{
    const spec_counted_case drift = case_of("drift?by=-0.2"), before = case_of("one");
    spec_counted_case after = before;
    spec_counter_limits l, a, b;
    after.alpha.mean = 0.5;
    assert_works(spec_counted_case_limits(&l, &drift, 3, &error));
    assert_works(spec_counted_case_limits(&a, &before, 3, &error));
    assert_works(spec_counted_case_limits(&b, &after, 3, &error));
    assert_near(l.accepted, 0.5 * (a.accepted + b.accepted), 1e-14);
    assert_near(l.tokens_per_s, 0.5 * (a.tokens_per_s + b.tokens_per_s), 1e-14);
    assert_near(l.alpha, (a.accepted + b.accepted) / (1 + 0.7 + 0.49 + 1 + 0.5 + 0.25), 1e-13);
    assert_works(spec_counted_case_limits(&l, &drift, 0, &error));
    assert_near(l.tokens, 1.0, 1e-14);
}

/* Windows depend on one another through their requests: the longer a window, the less two
 * neighbours have in common, unless phi says otherwise. */
TEST(phi_is_the_correlation_over_a_window)
{
    spec_counted_case of = case_of("requests?concentration=2");
    of.phi_K = 3;
    double one[2] = {0.0};
    for (int half = 0; half < 2; half++) {
        double variance = 0.0, covariance = 0.0, last = 0.0;
        of.phi = half == 0 ? 0.0 : 0.9;
        const spec_counted_run run = {SPEC_COUNTED_SGLANG, 3, 400, 0.0, 42, 5};
        static read_lines r;
        spec_memory_text text;
        assert_true(spec_memory_text_open(&text));
        assert_works(spec_counted_case_write(text.out, &of, &run, &error));
        FREED char *bytes = spec_memory_text_take(&text, NULL);
        read_lines_with(&r, &spec_reader_sglang_log, bytes, -1);
        assert_int_equal(r.n, 400);
        double mean = 0.0;
        for (int i = 0; i < r.n; i++) mean += r.observation[i].printed_length / r.n;
        for (int i = 0; i < r.n; i++) {
            const double x = r.observation[i].printed_length - mean;
            variance += x * x;
            covariance += i > 0 ? x * last : 0.0;
            last = x;
        }
        one[half] = covariance / variance;
    }
    assert_true(one[1] > 0.6 && one[0] < 0.55);
}

TEST(limits_are_those_of_the_draft_length_that_is_asked)
{
    const spec_counted_case c = case_of("decay?rate=0.8");
    spec_counter_limits l;
    assert_int_equal(spec_counted_case_limits(&l, &c, 2, NULL), GSL_SUCCESS);
    assert_near(l.passes[2], 0.7 * 0.7 * 0.8, 1e-13);
    assert_same(l.drafted, 2.0);
    assert_int_equal(spec_counted_case_limits(&l, &c, 0, NULL), GSL_SUCCESS);
    assert_near(l.tokens, 1.0, 1e-13);
}

TEST(failures_end_a_log)
{
    spec_counted_case c = case_of("one");
    spec_counted_run run = {SPEC_COUNTED_VLLM, 3, N, -1.0, 42, 3};
    spec_counter_limits l;
    assert_status(spec_counted_case_write(stderr, &c, &run, &error), GSL_EDOM);
    c.engine.output = 0.0;
    assert_status(spec_counted_case_limits(&l, &c, 3, &error), GSL_EDOM);
    c.phi = 0.5;
    assert_status(spec_counted_case_write(stderr, &c, &run, &error), GSL_EDOM);
}
