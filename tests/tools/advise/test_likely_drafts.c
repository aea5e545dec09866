/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks tokens of likely drafts: against the limits of counters, and the truth lies among the
 * draws as often as it should. */
#include "tools/advise/likely_drafts.h"

#include "analysis/acceptance/counter_limits.h"
#include "sim/chance/rng.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>

enum { LONGEST = 12 };

static spec_likely_draft *room(void)
{
    spec_likely_draft *drafts = malloc(SPEC_LIKELY_DRAFTS * sizeof *drafts);
    assert_non_null(drafts);
    return drafts;
}

/* Draws a ratio from one draft alone: the tokens at K, divided by those of `run` cut at `cut`. */
static double ratio_of(spec_likely_draft one, int K, int run, int cut, gsl_rng *rng)
{
    double ret[SPEC_ADVICE_K];
    int runs[SPEC_ADVICE_K], cuts[SPEC_ADVICE_K];
    spec_likely_draft *drafts = room();
    one.weights = 1.0;
    for (int d = 0; d < SPEC_LIKELY_DRAFTS; d++) drafts[d] = one;
    for (int L = 0; L <= K; L++) runs[L] = run, cuts[L] = cut;
    spec_likely_drafts_draw(ret, drafts, runs, cuts, K, rng);
    free(drafts);
    return ret[K];
}

/* A second route: an engine of analysis/acceptance/counter_limits.h with very long outputs. Its
 * requests have the alphas of a fine grid of the normal distribution, and not of seven nodes. */
TEST(tokens_are_the_limits_of_counters)
{
    enum { GRID = 2000 };
    static const spec_likely_draft draft[] = {{0.4, 0.0, INFINITY, 1.0, 0.0},
                                              {1.2, 0.7, INFINITY, 1.0, 0.0},
                                              {-0.5, 0.5, 3.0, 0.9, 0.0},
                                              {0.8, 0.9, INFINITY, 0.8, 0.0}};
    static const int asked[][3] = {{2, 5, 2}, {8, 5, 5}, {1, 3, 1}, {6, 3, 3}};
    gsl_rng *rng = spec_rng_alloc();
    spec_rng_stream(rng, 42, 0);
    double *share = malloc(2 * GRID * sizeof *share), *alpha = share + GRID;
    assert_non_null(share);
    for (int d = 0; d < 4; d++) {
        double sum = 0.0;
        for (int i = 0; i < GRID; i++) {
            const double z = 6.0 * (2.0 * i + 1.0 - GRID) / GRID;
            sum += share[i] = exp(-0.5 * z * z);
            alpha[i] = 1.0 / (1.0 + exp(-draft[d].center - draft[d].spread * z));
        }
        for (int i = 0; i < GRID; i++) share[i] /= sum;
        for (int a = 0; a < 4; a++) {
            spec_counted_engine engine = {
                .over_rounds = draft[d].over_rounds < INFINITY ? draft[d].over_rounds : 0.0,
                .decay = draft[d].decay,
                .output = 1e8,
                .batch = 1,
                .cost = {.step = 1.0}};
            spec_counter_limits at, run;
            engine.K = asked[a][0];
            assert_int_equal(spec_counter_limits_of(&at, &engine, share, alpha, GRID), GSL_SUCCESS);
            engine.K = asked[a][1];
            assert_int_equal(spec_counter_limits_of(&run, &engine, share, alpha, GRID),
                             GSL_SUCCESS);
            double cut = 1.0;
            for (int j = 1; j <= asked[a][2]; j++) cut += run.passes[j];
            assert_within(ratio_of(draft[d], asked[a][0], asked[a][1], asked[a][2], rng),
                          (1.0 + at.accepted) / cut, 2e-3);
        }
    }
    free(share);
    gsl_rng_free(rng);
}

/* Draws drafts at random, of which the method sees only the counters of one run. Returns the share
 * whose tokens at `asked` lie among the middle 90 % of draws. */
static double covered(int K, int asked, bool depths)
{
    enum { TRUTHS = 150, DRAWS = 99 };
    double held = 0.0;
    gsl_rng *rng = spec_rng_alloc();
    spec_rng_stream(rng, 7, 0);
    spec_likely_draft *truths = room(), *drafts = room();
    spec_likely_drafts_weigh(truths, NULL, 0, rng);
    for (int t = 0; t < TRUTHS; t++) {
        const spec_likely_draft truth = truths[t];
        double passed[LONGEST], tokens = 1.0, ret[SPEC_ADVICE_K];
        int run[SPEC_ADVICE_K], cut[SPEC_ADVICE_K], below = 0, above = 0;
        for (int j = 1; j <= K; j++) { /* all relative to the tokens at K = 1, cut after none */
            const double now = ratio_of(truth, 1, K, 0, rng) / ratio_of(truth, 1, K, j, rng);
            passed[j - 1] = now - tokens;
            tokens = now;
        }
        const spec_likely_counters counters = {K, 1e6, tokens, depths ? passed : NULL};
        for (int L = 0; L <= asked; L++) run[L] = K, cut[L] = depths && L < K ? L : K;
        const double right = ratio_of(truth, asked, K, cut[asked], rng);
        spec_likely_drafts_weigh(drafts, &counters, 1, rng);
        for (int i = 0; i < DRAWS; i++) {
            spec_likely_drafts_draw(ret, drafts, run, cut, asked, rng);
            below += ret[asked] < right * (1.0 - 1e-3);
            above += ret[asked] > right * (1.0 + 1e-3);
        }
        held += below <= DRAWS - 5 && above <= DRAWS - 5;
    }
    free(truths);
    free(drafts);
    gsl_rng_free(rng);
    return held / TRUTHS;
}

/* The survival of many drafts is lost in the sum of tokens long before depth 32. */
TEST(deep_counters_exclude_drafts_that_accept_little)
{
    enum { K = 32 };
    double passed[K], ret[SPEC_ADVICE_K];
    int run[SPEC_ADVICE_K], cut[SPEC_ADVICE_K];
    gsl_rng *rng = spec_rng_alloc();
    spec_rng_stream(rng, 42, 0);
    for (int j = 0; j < K; j++) passed[j] = pow(0.9, j + 1);
    for (int L = 0; L < SPEC_ADVICE_K; L++) run[L] = K, cut[L] = L < K ? L : K;
    spec_likely_draft *drafts = room();
    const spec_likely_counters counters = {K, 1e6, (1.0 - pow(0.9, K + 1)) / 0.1, passed};
    spec_likely_drafts_weigh(drafts, &counters, 1, rng);
    for (int i = 0; i < 50; i++) {
        spec_likely_drafts_draw(ret, drafts, run, cut, 64, rng);
        assert_within(ret[64], (1.0 - pow(0.9, 65)) / (1.0 - pow(0.9, 33)), 0.03);
        assert_within(ret[8], 1.0, 0.03);
    }
    free(drafts);
    gsl_rng_free(rng);
}

/* Few rounds leave more drafts. */
TEST(counters_of_few_rounds_say_less)
{
    enum { N = 300 };
    static const double passed[] = {0.7, 0.49, 0.343};
    double spread[2], ret[SPEC_ADVICE_K], drawn[N];
    int run[SPEC_ADVICE_K], cut[SPEC_ADVICE_K];
    gsl_rng *rng = spec_rng_alloc();
    spec_rng_stream(rng, 42, 0);
    for (int L = 0; L < SPEC_ADVICE_K; L++) run[L] = 3, cut[L] = L < 3 ? L : 3;
    spec_likely_draft *drafts = room();
    for (int i = 0; i < 2; i++) {
        const spec_likely_counters counters = {3, i == 0 ? 1e6 : 100.0, 2.533, passed};
        spec_likely_drafts_weigh(drafts, &counters, 1, rng);
        for (int n = 0; n < N; n++) {
            spec_likely_drafts_draw(ret, drafts, run, cut, 6, rng);
            drawn[n] = ret[6];
        }
        spread[i] = gsl_stats_sd(drawn, 1, N);
    }
    assert_true(spread[1] > 1.5 * spread[0]);
    free(drafts);
    gsl_rng_free(rng);
}

TEST(the_truth_lies_among_the_drafts_as_often_as_it_should, SLOW | STATISTICS)
{
    assert_near(covered(1, 3, true), 0.9, 0.08);
    assert_near(covered(3, 6, true), 0.9, 0.08);
    assert_near(covered(4, 2, true), 0.9, 0.08);
    assert_near(covered(3, 6, false), 0.9, 0.08);
}
