/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/single_server.h"

#include "analysis/serving/request_life.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

/* The service of a request of L tokens without a prompt is N rounds of one constant time. */
static void service(double *ret_mean, double *ret_square, double alpha, int K, int L,
                    const spec_affine_step *cost)
{
    OWNED(spec_rounds_law) rounds;
    OWNED(spec_request_life) life;
    const spec_request_costs costs = spec_request_costs_alone(cost, K);
    assert_int_equal(spec_rounds_law_init(&rounds, L), GSL_SUCCESS);
    assert_int_equal(spec_rounds_law_add_alpha(&rounds, 1.0, alpha, K, 0.0, NULL, L), GSL_SUCCESS);
    assert_int_equal(spec_request_life_init(&life, L, false), GSL_SUCCESS);
    assert_int_equal(spec_request_life_add(&life, 1.0, &costs, &rounds, 0.0, 0.0), GSL_SUCCESS);
    *ret_mean = spec_request_life_total(&life);
    *ret_square = spec_request_life_total_square(&life);
}

/* From a Python program, whose simulations of 960 000 requests agree within 1.1 standard errors. */
TEST(known_latencies)
{
    static const struct {
        int K, L;
        double alpha, load;
        const char *latency;
    } rows[] = {{0, 64, 0.8, 0.7, "1.525333"},
                {4, 64, 0.8, 0.7, "0.978059"},
                {4, 64, 0.8, 0.9, "2.490854"}};
    const spec_affine_step cost = {.step = 0.01, .token = 0.001, .draft_pass = 0.002};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double mean, square;
        service(&mean, &square, rows[i].alpha, rows[i].K, rows[i].L, &cost);
        const double rate = rows[i].load / mean;
        assert_prints(spec_single_server_latency(rate, mean, square), 6, rows[i].latency);
        if (rows[i].K == 0)
            assert_near(spec_single_server_wait(rate, mean, square),
                        rate * mean * mean / (2.0 * (1.0 - rate * mean)), 1e-12);
    }
}

/* Second route: the Markov chain of the number of requests in the system after each departure.
 * Between departures A requests arrive, where A is Poisson given the service time. Its stationary
 * mean is rate * latency. */
TEST(the_chain_of_departures_has_the_same_mean)
{
    enum { L = 5, K = 2, STATES = 120 };
    const double alpha = 0.6, round = 0.01 + 0.001 * (K + 1) + 0.002 * K;
    const spec_affine_step cost = {.step = 0.01, .token = 0.001, .draft_pass = 0.002};
    double mean, square;
    service(&mean, &square, alpha, K, L, &cost);
    OWNED(spec_rounds_law) rounds;
    assert_int_equal(spec_rounds_law_init(&rounds, L), GSL_SUCCESS);
    assert_int_equal(spec_rounds_law_add_alpha(&rounds, 1.0, alpha, K, 0.0, NULL, L), GSL_SUCCESS);
    for (int i = 1; i <= 3; i++) {
        const double rate = 0.25 * i / mean;
        double arrive[STATES] = {0.0}; /* P(A = a) */
        for (int n = 1; n <= L; n++) {
            const double chance = rounds.longer[n - 1] - (n < L ? rounds.longer[n] : 0.0);
            double poisson = exp(-rate * n * round);
            for (int a = 0; a < STATES; a++) {
                arrive[a] += chance * poisson;
                poisson *= rate * n * round / (a + 1);
            }
        }
        double at[STATES] = {1.0};
        for (int step = 0; step < 3000; step++) {
            double next[STATES] = {0.0};
            for (int s = 0; s < STATES; s++)
                for (int a = 0; a < STATES; a++) {
                    const int to = (s > 0 ? s - 1 : 0) + a;
                    next[to < STATES ? to : STATES - 1] += at[s] * arrive[a];
                }
            for (int s = 0; s < STATES; s++) at[s] = next[s];
        }
        double in_system = 0.0;
        for (int s = 0; s < STATES; s++) in_system += s * at[s];
        assert_near(rate * spec_single_server_latency(rate, mean, square), in_system, 1e-9);
    }
}

TEST(edges_and_outside)
{
    assert_same(spec_single_server_wait(0.0, 0.27, 0.1), 0.0);
    assert_same(spec_single_server_wait(4.0, 0.25, 0.1), INFINITY);
    assert_nan(spec_single_server_wait(-1.0, 0.27, 0.1));
    assert_nan(spec_single_server_wait(1.0, 0.0, 0.1));
    assert_nan(spec_single_server_wait(1.0, 0.27, 0.07));
    assert_nan(spec_single_server_latency(NAN, 0.27, 0.1));
}
