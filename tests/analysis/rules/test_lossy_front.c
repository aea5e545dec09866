/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the formula of the front against all possible output laws.
 * tests/sim/verify/test_verify_block_greedy.c shows that a rule attains it. */
#include "analysis/rules/lossy_front.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { UNITS = 12, TEXTS_MAX = 8 };

/* Rows (.5, .3, .2) and (.2, .5, .3) at both positions: the overlaps are .7 and .61. */
TEST(worked_example)
{
    static const double t[] = {0.5, 0.3, 0.2}, d[] = {0.2, 0.5, 0.3};
    double target[9], draft[9], tv[2];
    for (int i = 0; i < 9; i++) {
        target[i] = t[i / 3] * t[i % 3];
        draft[i] = d[i / 3] * d[i % 3];
    }
    spec_lossy_front_depths(tv, target, draft, 3, 2);
    assert_within(tv[0], 0.3, 1e-15);
    assert_within(tv[1], 0.39, 1e-15);
    assert_within(spec_lossy_front_accepted(tv, 2, 0.0), 1.31, 1e-15);
    assert_within(spec_lossy_front_accepted(tv, 2, 0.2), 1.71, 1e-15);
    assert_within(spec_lossy_front_accepted(tv, 2, 0.35), 1.96, 1e-15);
    assert_within(spec_lossy_front_tv(tv, 2, 1.71), 0.2, 1e-15);
    assert_within(spec_lossy_front_tv(tv, 2, 1.96), 0.35, 1e-14);
    assert_true(spec_lossy_front_accepted(tv, 2, 0.5) == 2.0);
    assert_true(spec_lossy_front_tv(tv, 2, 1.2) == 0.0);
    assert_within(spec_lossy_front_tv(tv, 2, 2.0), 0.39, 1e-15);
    assert_within(spec_lossy_front_tv(tv, 2, 2.01), 0.39, 1e-15);
    assert_true(isnan(spec_lossy_front_tv(tv, 2, NAN)));
}

/* ---- every law in twelfths ------------------------------------------------------------------- */

typedef struct {
    int V, K, texts;
    int target[TEXTS_MAX], draft[TEXTS_MAX]; /* in units of 1/12 */
    int most[UNITS + 1];                     /* twelfths kept, by twelfths of total variation */
} search;

/* Returns sum_i sum_{x^i} min(law, draft), which the best rule that emits this law keeps. */
static int kept(const search *s, const int *law)
{
    int sum = 0;
    for (int n = s->texts; n > 1; n /= s->V)
        for (int i = 0; i < n; i++) {
            int mine = 0, drafted = 0;
            for (int j = i * (s->texts / n); j < (i + 1) * (s->texts / n); j++) {
                mine += law[j];
                drafted += s->draft[j];
            }
            sum += mine < drafted ? mine : drafted;
        }
    return sum;
}

static void try_all(search *s, int *law, int i, int left)
{
    if (i < s->texts - 1) {
        for (law[i] = 0; law[i] <= left; law[i]++) try_all(s, law, i + 1, left - law[i]);
        return;
    }
    int tv = 0;
    law[i] = left;
    for (int j = 0; j < s->texts; j++)
        if (law[j] > s->target[j]) tv += law[j] - s->target[j];
    const int here = kept(s, law);
    if (here > s->most[tv]) s->most[tv] = here;
}

/* Draws a law that prefers the first texts, or the last ones. */
static void draw(int *ret_law, double *ret_law_in_ones, int n, bool last, gsl_rng *rng)
{
    memset(ret_law, 0, (size_t)n * sizeof *ret_law);
    for (int u = 0; u < UNITS; u++) {
        const int at = (int)(pow(gsl_rng_uniform(rng), 2.0) * n);
        ret_law[last ? n - 1 - at : at]++;
    }
    for (int i = 0; i < n; i++) ret_law_in_ones[i] = ret_law[i] / (double)UNITS;
}

/* The best law is the solution of a flow problem. In units of 1/12 its data are whole numbers, so
 * one of its solutions has whole numbers, too, and searching these finds the optimum. */
TEST(no_law_keeps_more_and_one_keeps_as_much)
{
    static const int shapes[][2] = {{2, 1}, {3, 1}, {5, 1}, {2, 2}, {2, 2}, {2, 3}};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int c = 0; c < 60; c++) {
        search s = {.V = shapes[c % 6][0], .K = shapes[c % 6][1], .texts = 1};
        double target[TEXTS_MAX], draft[TEXTS_MAX], tv[3];
        int law[TEXTS_MAX], most = 0;
        for (int i = 0; i < s.K; i++) s.texts *= s.V;
        draw(s.target, target, s.texts, false, rng);
        draw(s.draft, draft, s.texts, true, rng);
        try_all(&s, law, 0, UNITS);
        spec_lossy_front_depths(tv, target, draft, s.V, s.K);
        for (int budget = 0; budget <= UNITS; budget++) {
            if (s.most[budget] > most) most = s.most[budget];
            assert_within(spec_lossy_front_accepted(tv, s.K, budget / (double)UNITS),
                          most / (double)UNITS, 1e-12);
        }
    }
}

TEST(the_inverse_undoes_the_front)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int c = 0; c < 1000; c++) {
        enum { MOST = 7 };
        double tv[MOST], last = 0.0;
        const int K = 1 + c % MOST;
        for (int i = 0; i < K; i++)
            last = tv[i] =
                c % 3 == 0 && i % 2 > 0 ? last : last + (1.0 - last) * gsl_rng_uniform(rng);
        const double budget = tv[K - 1] * gsl_rng_uniform(rng);
        assert_within(spec_lossy_front_tv(tv, K, spec_lossy_front_accepted(tv, K, budget)), budget,
                      1e-13);
    }
}
