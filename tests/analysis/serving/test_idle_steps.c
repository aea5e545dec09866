/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/idle_steps.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

enum { MOST = 60 };

/* Adds to P(n requests begin) Poisson's law of this mean, times a probability. */
static void add_poisson(double *at, double mean, double chance)
{
    double p = chance * exp(-mean);
    for (int n = 0; n < MOST; n++) {
        at[n] += p;
        p *= mean / (n + 1.0);
    }
}

/* Second route: the Markov chain of the number of requests in a step, if each request lives for one
 * step. */
TEST(requests_of_one_step_fall_idle_as_their_chain)
{
    const spec_affine_step cost = {.step = 0.9, .token = 0.4, .draft_round = 0.3};
    const spec_request_kind kind = {1.0, 0.6, NULL, 1, 0.0, 0.0};
    for (int i = 1; i <= 3; i++)
        for (int K = 0; K < 2; K++) {
            const spec_request_kinds kinds = {&kind, 1, false, K, 0.0, NULL};
            const double rate = 0.3 * i, base = 0.9 + 0.3 * K, added = 0.4 * (K + 1);
            double at[MOST] = {0.0, 1.0}, idle = 0.0;
            for (int step = 0; step < 2000; step++) {
                double next[MOST] = {0.0};
                for (int n = 1; n < MOST; n++) add_poisson(next, rate * (base + added * n), at[n]);
                idle = next[0];
                next[1] += idle;
                next[0] = 0.0;
                memcpy(at, next, sizeof at);
            }
            spec_idle_steps steps;
            assert_int_equal(spec_idle_steps_solve(&steps, &kinds, &cost, rate), GSL_SUCCESS);
            assert_near(steps.idle, idle, 1e-9);
            assert_same(steps.undrafted, 0.0);
            assert_same(steps.newcomers, 0.0);
        }
}

/* Second route: the Markov chain of the numbers of prefills and of decoding requests, if each
 * request has one step of both. With more arrivals per step it needs more terms. */
TEST(prefills_alone_are_those_of_their_chain)
{
    const spec_affine_step cost = {
        .step = 0.9, .token = 0.05, .kv = 0.01, .draft_round = 0.3, .draft_pass = 0.2};
    const spec_request_kind kind = {1.0, 0.6, NULL, 2, 5.0, 25.0};
    const spec_request_kinds kinds = {&kind, 1, true, 1, 0.0, NULL};
    const double rates[] = {0.02, 0.25, 0.6, 1.3};
    for (int i = 0; i < 4; i++) {
        static double at[MOST][MOST], next[MOST][MOST];
        memset(at, 0, sizeof at);
        at[0][1] = 1.0; /* [decoding][prefills] */
        double idle = 0.0;
        for (int step = 0; step < 1500; step++) {
            memset(next, 0, sizeof next);
            for (int d = 0; d < MOST; d++)
                for (int f = 0; f < MOST; f++)
                    if (at[d][f] > 1e-16)
                        add_poisson(
                            next[f],
                            rates[i] * (0.9 + (d > 0) * 0.5 + 0.25 * f + (0.05 * 2 + 0.01 * 5) * d),
                            at[d][f]);
            idle = next[0][0];
            next[0][1] += idle;
            next[0][0] = 0.0;
            memcpy(at, next, sizeof at);
        }
        double undrafted = 0.0, newcomers = 0.0;
        for (int f = 1; f < MOST; f++) {
            undrafted += at[0][f];
            newcomers += f * at[0][f];
        }
        spec_idle_steps steps;
        assert_int_equal(spec_idle_steps_solve(&steps, &kinds, &cost, rates[i]), GSL_SUCCESS);
        assert_near(steps.idle, idle, 1e-7);
        assert_near(steps.undrafted, undrafted, 1e-7);
        assert_near(steps.newcomers, newcomers, 1e-7);
    }
}

TEST(a_busy_engine_is_never_idle)
{
    const spec_affine_step cost = {.step = 7e-3, .token = 2e-5, .kv = 4e-8, .draft_round = 2e-3};
    const spec_request_kind kind = {1.0, 0.8, NULL, 256, 512.0, 512.0 * 512.0};
    const spec_request_kinds kinds = {&kind, 1, true, 3, 0.0, NULL};
    spec_idle_steps steps;
    assert_int_equal(spec_idle_steps_solve(&steps, &kinds, &cost, 45.0), GSL_SUCCESS);
    assert_same(steps.idle, 0.0);
    assert_same(steps.undrafted, 0.0);
    assert_same(steps.newcomers, 0.0);
    /* With one request at a time, idle time follows its last step, and its prefill has no draft. */
    assert_int_equal(spec_idle_steps_solve(&steps, &kinds, &cost, 1e-7), GSL_SUCCESS);
    assert_near(steps.newcomers, steps.undrafted, 1e-6);
    assert_near(steps.undrafted, steps.idle, 1e-6);
    assert_int_equal(spec_idle_steps_solve(&steps, &kinds, &cost, 60.0), GSL_EDOM);
    assert_int_equal(spec_idle_steps_solve(&steps, &kinds, &cost, 0.0), GSL_EDOM);
    assert_int_equal(spec_idle_steps_solve(&steps, &kinds, &cost, NAN), GSL_EDOM);
    assert_same(steps.idle, 0.0);
}
