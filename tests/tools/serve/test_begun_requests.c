/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/begun_requests.h"

#include "analysis/statistics/moments.h"
#include "sim/serving/requests/requests.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

enum { MOST = 4000, RUNS = 400 };

/* Requests of lognormal lengths, mean 60 and E[L^2] = 60^2 e^(0.8^2). */
static spec_requests lognormal(void)
{
    spec_requests requests = {.speed = 1.0};
    assert_works(spec_arrivals_init(&requests.arrivals, "poisson", 4.0, &error));
    assert_works(spec_length_law_init(&requests.prompt, "7", 0, &error));
    assert_works(spec_length_law_init(&requests.output, "lognormal?mean=60&sigma=0.8", 1, &error));
    assert_works(spec_alpha_law_init(&requests.alpha, "one", 0.6, &error));
    return requests;
}

/* Draws the requests that have already begun when a run starts; returns their number. */
static int take(spec_request ret[MOST], const spec_begun_requests *begun, uint64_t stream)
{
    const spec_request_source source = spec_begun_requests_source(begun);
    void *cursor = source.begin(source.self, 42, stream);
    int n = 0;
    assert_non_null(cursor);
    while (source.next(cursor, &ret[n]) && ret[n].begun && n < MOST - 1) n++;
    assert_true(!ret[n].begun && ret[n].prompt == 7); /* then come the other requests */
    source.end(cursor);
    return n;
}

static void assert_mean(const spec_moments *of, double expected)
{
    const double se = spec_moments_standard_error(of);
    if (fabs(of->mean - expected) > 5.0 * se + 0.5)
        fail_msg("%g, expected %g, se %g", of->mean, expected, se);
}

/* In equilibrium, the emitted and the remaining part of a length both have the mean E[L^2]/2E[L] =
 * 57. If lengths were drawn as for new requests, it would be 30. */
TEST(begun_requests_are_those_of_an_engine_in_equilibrium)
{
    static spec_request of[MOST];
    const spec_requests requests = lognormal(), by_length = spec_requests_by_length(&requests);
    const double left = 60.0 * exp(0.64) / 2.0;
    for (int closed = 0; closed <= 1; closed++) {
        spec_moments number = {0}, rest = {0}, past = {0};
        const spec_begun_requests begun = {.inner = spec_requests_source(&requests),
                                           .by_length = spec_requests_source(&by_length),
                                           .slots = closed ? 9 : 0,
                                           .mean = 33.0,
                                           .step = closed ? 1.0 : 2.5,
                                           .K = 2};
        for (uint64_t i = 0; i < RUNS; i++) {
            const int n = take(of, &begun, i);
            spec_moments_add(&number, n);
            for (int k = 0; k < n; k++) {
                assert_true(of[k].arrival == 0.0 && of[k].output >= 1);
                spec_moments_add(&rest, of[k].output);
                spec_moments_add(&past, of[k].prompt - 7);
            }
        }
        /* A step takes 2.5 times as long, and a round emits 1 + .6 + .36 tokens. */
        if (closed)
            assert_true(number.mean == 9.0 && number.m2 == 0.0);
        else
            assert_mean(&number, 33.0 * 2.5 / 1.96);
        assert_mean(&rest, left);
        assert_mean(&past, left);
    }
}

/* Second route: E[t] and E[t^2] of the time L (1 + g (7 + L/2 - c)) for which a request of length L
 * is in the system, over lengths drawn as for new requests. The number of such requests is in
 * proportion to that time, and the emitted part of a length has the density 1 + g (7 + x - c) in
 * x. */
TEST(requests_whose_steps_are_longer_are_more_and_are_further)
{
    static spec_request of[MOST];
    const spec_requests requests = lognormal(), by_length = spec_requests_by_length(&requests);
    const double context = spec_requests_mean_context(&requests), growth = 0.5 / context;
    enum { DRAWS = 2000000 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, 5);
    double time = 0.0, length = 0.0, done = 0.0;
    for (int i = 0; i < DRAWS; i++) {
        const double L = spec_length_law_draw(&requests.output, rng),
                     start = 1.0 + growth * (7.0 - context);
        time += L * (start + 0.5 * growth * L);
        length += L * L * (start + 0.5 * growth * L);
        done += L * L * (0.5 * start + growth * L / 3.0);
    }
    for (int closed = 0; closed <= 1; closed++) {
        spec_moments number = {0}, whole = {0}, past = {0};
        const spec_begun_requests begun = {.inner = spec_requests_source(&requests),
                                           .by_length = spec_requests_source(&by_length),
                                           .slots = closed ? 9 : 0,
                                           .mean = 33.0,
                                           .step = closed ? 1.0 : 2.5,
                                           .growth = growth,
                                           .context = context,
                                           .most_context = spec_requests_most_context(&requests),
                                           .tokens = 1.0};
        for (uint64_t i = 0; i < RUNS; i++) {
            const int n = take(of, &begun, i);
            spec_moments_add(&number, n);
            for (int k = 0; k < n; k++) {
                spec_moments_add(&whole, of[k].prompt - 7 + of[k].output);
                spec_moments_add(&past, of[k].prompt - 7);
            }
        }
        if (!closed) assert_mean(&number, 33.0 * 2.5);
        assert_mean(&whole, length / time);
        assert_mean(&past, done / time);
    }
}

/* With common random numbers, a faster engine has some of a slower one's requests, each further
 * advanced. */
TEST(ways_begin_with_the_same_requests)
{
    static spec_request slow[MOST], fast[MOST];
    const spec_requests requests = lognormal(), by_length = spec_requests_by_length(&requests);
    spec_begun_requests begun = {.inner = spec_requests_source(&requests),
                                 .by_length = spec_requests_source(&by_length),
                                 .mean = 50.0,
                                 .step = 2.3,
                                 .tokens = 1.0};
    const int n = take(slow, &begun, 3);
    begun.step = 1.4;
    const int m = take(fast, &begun, 3);
    assert_true(m > 0 && m < n);
    for (int i = 0, k = 0; i < m; i++, k++) {
        while (slow[k].prompt + slow[k].output != fast[i].prompt + fast[i].output) k++;
        assert_true(k < n && fast[i].output <= slow[k].output);
    }
}
