/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks times of likely engines: they agree with what was measured, and the truth lies among them
 * as often as it should. */
#include "tools/advise/likely_times.h"

#include "sim/chance/rng.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 99, ENGINES = 300 };

static spec_likely_engine *engines_of(const spec_round_times *measured, gsl_rng *rng)
{
    spec_likely_engine *engines = malloc(SPEC_LIKELY_ENGINES * sizeof *engines);
    assert_non_null(engines);
    static const double exact[SPEC_ADVICE_K] = {0.0};
    spec_likely_times_engines(engines, measured, exact, rng);
    return engines;
}

/* Draws that know only the time of plain decoding represent all engines, in units of it: they rise,
 * and are convex from K = 1 on. */
TEST(engines_have_the_shape_that_bounds_assume)
{
    static const int K[] = {0};
    static const double one[] = {1.0};
    const spec_round_times plain = {1, K, one};
    gsl_rng *rng = spec_rng_alloc();
    spec_rng_stream(rng, 42, 0);
    spec_likely_engine *engines = engines_of(&plain, rng);
    int linear = 0;
    for (int i = 0; i < 1000; i++) {
        double t[SPEC_ADVICE_K], bent = 0.0;
        spec_likely_times_draw(t, engines, &plain, rng);
        assert_same(t[0], 1.0);
        for (int L = 1; L < SPEC_ADVICE_K - 1; L++) {
            assert_true(t[L] > t[L - 1]);
            if (L > 1) bent = fmax(bent, t[L + 1] - 2.0 * t[L] + t[L - 1]);
            if (L > 1) assert_true(t[L + 1] - 2.0 * t[L] + t[L - 1] > -1e-9);
        }
        linear += bent < 1e-9;
    }
    assert_true(linear > 340 && linear < 500); /* 40 %, and some with free < 2 */
    free(engines);
    gsl_rng_free(rng);
}

/* Without any measured time the draws are the same as with plain decoding alone. */
TEST(no_measured_time_excludes_no_engine)
{
    static const int K[] = {0};
    static const double one[] = {1.0};
    const spec_round_times none = {0}, plain = {1, K, one};
    double without[SPEC_ADVICE_K], with[SPEC_ADVICE_K];
    gsl_rng *rng = spec_rng_alloc();
    for (int i = 0; i < 2; i++) {
        spec_rng_stream(rng, 42, 0);
        spec_likely_engine *engines = engines_of(i == 0 ? &none : &plain, rng);
        spec_likely_times_draw(i == 0 ? without : with, engines, i == 0 ? &none : &plain, rng);
        free(engines);
    }
    for (int L = 0; L < SPEC_ADVICE_K; L++) assert_near(without[L], with[L], 1e-12 * with[L]);
    gsl_rng_free(rng);
}

/* Measured times are reproduced, even if no engine is near them. If their unit is not known, the
 * draws scale with it. */
TEST(draws_meet_the_measured_times)
{
    static const int K[] = {0, 2, 5};
    static const double usual[] = {1.0, 1.3, 1.9}, odd[] = {1.0, 3.0, 1.1},
                        large[] = {130.0, 190.0};
    const spec_round_times measured[] = {
        {3, K, usual}, {3, K, odd}, {2, K + 1, usual + 1}, {2, K + 1, large}};
    double drawn[4][SPEC_ADVICE_K];
    gsl_rng *rng = spec_rng_alloc();
    for (int i = 0; i < 4; i++) {
        spec_rng_stream(rng, 42, 0);
        spec_likely_engine *engines = engines_of(&measured[i], rng);
        for (int n = 0; n < 50; n++) {
            spec_likely_times_draw(drawn[i], engines, &measured[i], rng);
            for (int j = 0; j < measured[i].n; j++)
                assert_near(drawn[i][measured[i].K[j]], measured[i].time[j],
                            1e-12 * measured[i].time[j]);
            if (i == 0) assert_true(drawn[i][4] >= drawn[i][3] && drawn[i][3] >= drawn[i][2]);
        }
        free(engines);
    }
    for (int L = 0; L < SPEC_ADVICE_K; L++)
        assert_near(drawn[3][L], 100.0 * drawn[2][L], 1e-9 * drawn[3][L]);
    gsl_rng_free(rng);
}

/* Returns the relative density of measured times around an engine's: normal at the lengths that
 * determine its costs, Student's at K = 2 if the time at K = 6 determines all that it can. */
static double likelihood(const spec_likely_engine *e, const double time[3], double scale)
{
    double z[3];
    for (int i = 1; i < 3; i++) {
        const double K = i == 1 ? 2.0 : 6.0, at = 1.0 + e->overhead + e->draft * K +
                                                  e->token * fmax(K + 1.0 - e->free, 0.0);
        z[i] = log(time[i] / at) / scale;
    }
    const double normal = exp(-0.5 * z[2] * z[2]) / sqrt(2.0 * M_PI);
    return e->free == 1.0 || e->free >= 7.0 ? normal * M_2_PI * pow(1.0 + z[1] * z[1], -2.0)
                                            : normal * exp(-0.5 * z[1] * z[1]) / sqrt(2.0 * M_PI);
}

/* A second route: engines of the prior, weighted by the density of the measured times, have the
 * same share of linear times, free tokens and draft costs as those that were fitted to the times.
 */
TEST(fitted_engines_have_the_posterior_of_the_prior)
{
    enum { SETS = 40 };
    static const int K[] = {0, 2, 6};
    static const double error[] = {0.0, 0.06, 0.06}, time[] = {1.0, 1.25, 2.2}, one[] = {1.0};
    const spec_round_times plain = {1, K, one}, measured = {3, K, time};
    double mean[2][4] = {{0.0}};
    gsl_rng *rng = spec_rng_alloc();
    spec_rng_stream(rng, 42, 0);
    spec_likely_engine *engines = malloc(SPEC_LIKELY_ENGINES * sizeof *engines);
    assert_non_null(engines);
    for (int i = 0; i < 2 * SETS; i++) {
        double before = 0.0, *sum = mean[i % 2];
        spec_likely_times_engines(engines, i % 2 == 0 ? &plain : &measured, error, rng);
        for (int e = 0; e < SPEC_LIKELY_ENGINES; e++) {
            double weight = engines[e].weights - before;
            before = engines[e].weights;
            if (i % 2 == 0) weight = likelihood(&engines[e], time, hypot(0.002, 0.06));
            sum[0] += weight;
            sum[1] += weight * (engines[e].free == 1.0);
            sum[2] += weight * engines[e].free;
            sum[3] += weight * engines[e].draft;
        }
    }
    for (int j = 1; j < 4; j++) assert_near(mean[1][j] / mean[1][0], mean[0][j] / mean[0][0], 0.04);
    free(engines);
    gsl_rng_free(rng);
}

/* Returns the share of engines whose true time at `asked` lies among the middle 90 % of draws that
 * know only the times at K (n). */
static double covered(const int *K, int n, int asked)
{
    static const int zero[] = {0};
    static const double one[] = {1.0};
    const spec_round_times plain = {1, zero, one};
    double truth[SPEC_ADVICE_K], drawn[SPEC_ADVICE_K], time[SPEC_ADVICE_K], held = 0.0;
    const spec_round_times measured = {n, K, time};
    gsl_rng *rng = spec_rng_alloc();
    spec_rng_stream(rng, 7, 0);
    spec_likely_engine *truths = engines_of(&plain, rng);
    for (int e = 0; e < ENGINES; e++) {
        int below = 0, above = 0;
        spec_likely_times_draw(truth, truths, &plain, rng);
        for (int i = 0; i < n; i++) time[i] = truth[K[i]];
        spec_likely_engine *engines = engines_of(&measured, rng);
        for (int i = 0; i < DRAWS; i++) {
            spec_likely_times_draw(drawn, engines, &measured, rng);
            below += drawn[asked] < truth[asked] * (1.0 - 1e-9);
            above += drawn[asked] > truth[asked] * (1.0 + 1e-9);
        }
        held += below <= DRAWS - 5 && above <= DRAWS - 5;
        free(engines);
    }
    free(truths);
    gsl_rng_free(rng);
    return held / ENGINES;
}

/* A second route: draws engines at random, of which the method sees only the measured times. */
TEST(the_truth_lies_among_the_draws_as_often_as_it_should, SLOW | STATISTICS)
{
    static const int one[] = {0, 3}, two[] = {0, 2, 6}, drafts[] = {2, 6};
    assert_near(covered(one, 2, 1), 0.9, 0.05);
    assert_near(covered(one, 2, 6), 0.9, 0.05);
    assert_near(covered(two, 3, 4), 0.95, 0.05);
    assert_near(covered(two, 3, 9), 0.95, 0.05);
    assert_near(covered(drafts, 2, 4), 0.95, 0.05); /* linear engines are reproduced exactly */
}
