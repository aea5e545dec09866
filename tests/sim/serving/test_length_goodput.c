/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares lengths that maximise expected tokens per second with exhaustive search. */
#include "base/noise.h"
#include "tests/sim/serving/length_run.h"
#include "tests/support/support.h"

#include <string.h>

enum { CASES = 300, REQUESTS_MAX = 4, K_MAX = 4 };

typedef struct {
    int n;
    float alpha[REQUESTS_MAX];
    char target[256], draft[256];
} small_case;

static double uniform(uint64_t key, uint64_t i)
{
    return (double)(spec_noise_word(key, i) >> 11) * 0x1p-53;
}

/* 2 to 4 requests have alphas from the unit interval. A step takes 1 s, a token up to 0.5 s and, if
 * drafts take passes, a pass up to 0.4 s. */
static small_case case_of(int i, bool passes)
{
    const uint64_t key = spec_noise_mix(42 + (uint64_t)i);
    small_case c = {.n = 2 + (int)(uniform(key, 0) * 3)};
    for (int r = 0; r < c.n; r++) c.alpha[r] = (float)uniform(key, 1 + (uint64_t)r);
    snprintf(c.target, sizeof c.target, "step=1s,token=%.17gs", 0.5 * uniform(key, 8));
    snprintf(c.draft, sizeof c.draft, "pass=%.17gs,token=%.17gs",
             passes ? 0.4 * uniform(key, 9) : 0.0, 0.1 * uniform(key, 10));
    return c;
}

static double goodput_of(const spec_step_cost *cost, const small_case *c, const int32_t *K)
{
    spec_step_work work = {.decode_tokens = c->n, .decoding = c->n};
    double emitted = 0.0;
    for (int r = 0; r < c->n; r++) {
        double power = 1.0;
        for (int j = 0; j <= K[r]; j++, power *= (double)c->alpha[r]) emitted += power;
        work.decode_tokens += K[r];
        work.drafted += K[r];
        if (K[r] > work.passes) work.passes = K[r];
    }
    return emitted / (spec_step_cost_target(cost, &work) + spec_step_cost_draft(cost, &work));
}

/* The largest goodput over all lengths of all requests, and over common ones. */
static double exhaustive(double *ret_common, const spec_step_cost *cost, const small_case *c)
{
    double best = 0.0;
    int all = 1;
    *ret_common = 0.0;
    for (int r = 0; r < c->n; r++) all *= K_MAX + 1;
    for (int code = 0; code < all; code++) {
        int32_t K[REQUESTS_MAX];
        bool same = true;
        for (int r = 0, rest = code; r < c->n; r++, rest /= K_MAX + 1) {
            K[r] = rest % (K_MAX + 1);
            same = same && K[r] == K[0];
        }
        const double goodput = goodput_of(cost, c, K);
        best = fmax(best, goodput);
        if (same) *ret_common = fmax(*ret_common, goodput);
    }
    return best;
}

typedef struct {
    int misses;
    double mean_loss, worst_loss;     /* of the choice */
    double mean_common, worst_common; /* loss of the best common K */
} losses;

static losses compare(const char *spec, small_case (*make)(int, bool), bool passes)
{
    losses sum = {0};
    for (int i = 0; i < CASES; i++) {
        const small_case c = make(i, passes);
        OWNED(length_run) run;
        double common;
        length_run_init(&run, spec, c.target, c.draft, REQUESTS_MAX);
        const double best = exhaustive(&common, run.cost, &c);
        length_run_choose(&run, c.alpha, c.n);
        const double loss = 1.0 - goodput_of(run.cost, &c, run.K) / best;
        /* The second step starts from the goodput of the first. */
        length_run_choose(&run, c.alpha, c.n);
        assert_within(1.0 - goodput_of(run.cost, &c, run.K) / best, loss, 1e-9);
        assert_true(loss > -1e-12);
        sum.misses += loss > 1e-6; /* survivals are floats */
        sum.mean_loss += loss / CASES;
        sum.worst_loss = fmax(sum.worst_loss, loss);
        sum.mean_common += (1.0 - common / best) / CASES;
        sum.worst_common = fmax(sum.worst_common, 1.0 - common / best);
    }
    return sum;
}

/* In other random cases of this kind one common K lost 4.7 % on average and 29 % at worst. */
TEST(lengths_of_each_request_are_the_best_of_all)
{
    const losses tokens = compare("goodput-each?K_max=4", case_of, false),
                 passes = compare("goodput-each?K_max=4", case_of, true);
    assert_int_equal(tokens.misses + passes.misses, 0);
    assert_within(0.5 * (tokens.mean_common + passes.mean_common), 0.047, 0.01);
    assert_within(fmax(tokens.worst_common, passes.worst_common), 0.29, 0.06);
}

/* Without passes, the sum of probabilities over affine seconds has a single maximum along the
 * order. With passes it may have several, and in a quarter of random cases the first is not the
 * best. */
TEST(stopping_at_the_first_loss_is_the_best_without_passes_alone)
{
    losses sum = compare("goodput-each?K_max=4&stop=first", case_of, false);
    assert_int_equal(sum.misses, 0);
    sum = compare("goodput-each?K_max=4&stop=first", case_of, true);
    assert_true(sum.misses > CASES / 10 && sum.misses < CASES * 3 / 10);
    assert_true(sum.worst_loss > 0.1 && sum.worst_loss < 0.3);
}

TEST(a_common_length_is_the_best_common_one)
{
    for (int passes = 0; passes < 2; passes++) {
        const losses sum = compare("goodput?K_max=4", case_of, passes);
        assert_within(sum.mean_loss, sum.mean_common, 1e-6);
        assert_within(sum.worst_loss, sum.worst_common, 1e-6);
    }
}

/* The costs have a kink: flat until compute exceeds the reads of weights; and the draft has a
 * cache. */
static small_case edged_case_of(int i, bool passes)
{
    small_case c = case_of(i, passes);
    const uint64_t key = spec_noise_mix(4242 + (uint64_t)i);
    snprintf(c.target, sizeof c.target,
             "roofline:flops=1TFLOPS,bandwidth=%.17gTB/s,parameters=%.17g,overhead=%.17gs,form=max",
             0.5 + 2.0 * uniform(key, 0), 1e9 + 2e11 * uniform(key, 1), 0.5 * uniform(key, 2));
    snprintf(c.draft, sizeof c.draft,
             "roofline:flops=1TFLOPS,bandwidth=1TB/s,parameters=%.17g,form=max",
             passes ? 1e9 + 1e11 * uniform(key, 3) : 1e4);
    return c;
}

TEST(rooflines_with_an_edge_are_searched_through)
{
    for (int passes = 0; passes < 2; passes++)
        assert_int_equal(compare("goodput-each?K_max=4", edged_case_of, passes).misses, 0);
}

/* ---- alpha by a moving average --------------------------------------------------------------- */

/* Returns the accepted tokens of drafts of K at alpha, by the words of `key`. */
static int32_t accepted_of(uint64_t key, int K, double alpha)
{
    int32_t n = 0;
    while (n < K && uniform(key, (uint64_t)n) < alpha) n++;
    return n;
}

/* Returns the lengths after `steps` steps of n requests. */
static void run_steps(length_run *run, const float *alpha, int n, int steps)
{
    int32_t accepted[64];
    for (int s = 0; s < steps; s++) {
        length_run_choose(run, alpha, n);
        for (int i = 0; i < n; i++)
            accepted[i] =
                accepted_of(spec_noise_mix((uint64_t)(s * 64 + i)), run->K[i], (double)alpha[i]);
        length_run_observe(run, alpha, n, accepted, 1.0);
    }
}

static const char *const target = "step=7ms,token=0.3ms", *const draft = "round=1ms,pass=0.2ms";

TEST(averages_find_the_lengths_of_the_known_alpha)
{
    static const double alphas[] = {0.35, 0.6, 0.8, 0.93};
    for (int a = 0; a < 4; a++) {
        float alpha[16];
        for (int i = 0; i < 16; i++) alpha[i] = (float)alphas[a];
        for (int each = 0; each < 2; each++) {
            length_run known, average;
            length_run_init(&known, each ? "goodput-each" : "goodput", target, draft, 16);
            length_run_init(&average,
                            each ? "goodput-each?alpha=average&rate=0.01&start=0.5"
                                 : "goodput?alpha=average&rate=0.003&start=0.5",
                            target, draft, 16);
            const int K = length_run_choose(&known, alpha, 16);
            run_steps(&average, alpha, 16, 3000);
            int sum = 0;
            for (int i = 0; i < 16; i++) sum += average.K[i] - K;
            assert_true(abs(sum) <= (each ? 24 : 16));
            assert_false(spec_length_learns(known.choice));
            assert_true(spec_length_learns(average.choice));
            length_run_free(&known);
            length_run_free(&average);
        }
    }
}

TEST(requests_are_told_apart)
{
    float alpha[16];
    for (int i = 0; i < 16; i++) alpha[i] = i < 8 ? 0.15f : 0.9f;
    OWNED(length_run) run;
    length_run_init(&run, "goodput-each?alpha=average", target, draft, 16);
    run_steps(&run, alpha, 16, 300);
    int low = 0, high = 0;
    for (int i = 0; i < 8; i++) low += run.K[i], high += run.K[8 + i];
    assert_true(low <= 8 && high >= 24);
    /* A new request in slot 0 begins with the average of all requests. */
    spec_length_enter(run.choice, run.state, 0);
    length_run_choose(&run, alpha, 16);
    assert_true(run.K[0] >= 1 && run.K[0] < run.K[15] + 1);
}

/* Without drafts there is no evidence, so without probing a bad start would never end. */
TEST(a_probe_ends_a_bad_start)
{
    const float alpha[2] = {0.9f, 0.9f};
    for (int each = 0; each < 2; each++) {
        OWNED(length_run) run;
        const int32_t all[2] = {1, 1};
        length_run_init(&run,
                        each ? "goodput-each?alpha=average&start=0&probe=10&rate=0.2"
                             : "goodput?alpha=average&start=0&probe=10&rate=0.2",
                        target, draft, 2);
        for (int s = 0; s < 10; s++) assert_int_equal(length_run_choose(&run, alpha, 2), 0);
        assert_int_equal(length_run_choose(&run, alpha, 2), 1);
        length_run_observe(&run, alpha, 2, all, 1.0);
        assert_true(length_run_choose(&run, alpha, 2) > 0);
        length_run_free(&run);
        length_run_init(&run,
                        each ? "goodput-each?alpha=average&start=0&probe=0"
                             : "goodput?alpha=average&start=0&probe=0",
                        target, draft, 2);
        for (int s = 0; s < 300; s++) assert_int_equal(length_run_choose(&run, alpha, 2), 0);
    }
}
