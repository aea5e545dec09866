/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/modulated.h"

#include "analysis/capped_geometric.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- hidden states --------------------------------------------------------------------------- */

static const double start3[] = {0.2, 0.5, 0.3}, accept3[] = {0.95, 0.27, 0.6};
static const double stay3[] = {0.7, 0.2, 0.1, 0.05, 0.9, 0.05, 0.385, 0.115, 0.5};

/* Second route: forwards, by the tails. P(n_accepted >= k) = start D (stay D)^(k-1) 1, E[N] = sum
 * of tails, E[N^2] = sum (2k-1) tails. */
static void tail_sums(double *ret_mean, double *ret_variance, const double *start,
                      const double *stay, const double *accept, int S, int K)
{
    double at[8], next[8], first = 0.0, second = 0.0;
    memcpy(at, start, (size_t)S * sizeof(double));
    for (int k = 1; k <= K; k++) {
        double tail = 0.0;
        for (int s = 0; s < S; s++) tail += at[s] *= accept[s];
        first += tail;
        second += (2 * k - 1) * tail;
        for (int t = 0; t < S; t++) {
            next[t] = 0.0;
            for (int s = 0; s < S; s++) next[t] += at[s] * stay[s * S + t];
        }
        memcpy(at, next, sizeof at);
    }
    *ret_mean = 1.0 + first;
    *ret_variance = second - first * first;
}

TEST(hidden_moments_are_tail_sums)
{
    for (int K = 0; K <= 20; K++) {
        double mean, variance, mean_by_tails, variance_by_tails;
        assert_int_equal(
            spec_modulated_mean_variance(&mean, &variance, start3, stay3, accept3, 3, K),
            GSL_SUCCESS);
        tail_sums(&mean_by_tails, &variance_by_tails, start3, stay3, accept3, 3, K);
        assert_near(mean, mean_by_tails, 1e-14);
        assert_within(variance, variance_by_tails, 1e-13 * variance_by_tails);
    }
}

TEST(equal_chances_are_iid)
{
    const double alphas[] = {0.0, 0.27, 0.8, 1.0 - 1e-9, 1.0};
    for (int i = 0; i < 5; i++) {
        const double same[] = {alphas[i], alphas[i], alphas[i]};
        for (int K = 0; K < 12; K++) {
            double mean, variance;
            assert_int_equal(
                spec_modulated_mean_variance(&mean, &variance, start3, stay3, same, 3, K),
                GSL_SUCCESS);
            assert_near(mean, spec_capped_geometric_mean(alphas[i], K), 1e-14);
            /* the rows of stay3 sum to 1 up to rounding, which is the only error at alpha = 1 */
            assert_within(variance, spec_capped_geometric_variance(alphas[i], K),
                          1e-13 * (variance + 1e-12));
        }
    }
    double mean, variance;
    const double one = 1.0, chance = 0.27;
    assert_int_equal(spec_modulated_mean_variance(&mean, &variance, &one, &one, &chance, 1, 4),
                     GSL_SUCCESS);
    assert_near(mean, spec_capped_geometric_mean(0.27, 4), 1e-15);
    assert_near(variance, spec_capped_geometric_variance(0.27, 4), 1e-15);
}

/* tests/oracle/closed.py, lines "corr": chances .95 and .55, K = 7. */
TEST(correlation_raises_the_mean)
{
    static const struct {
        double rho;
        const char *mean;
    } rows[] = {{0.0, "3.600"}, {0.5, "3.862"}, {0.9, "4.300"}};
    double mean, variance, least = 0.0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(spec_modulated_pair(&mean, &variance, 0.75, 0.2, rows[i].rho, 7),
                         GSL_SUCCESS);
        assert_prints(mean, 3, rows[i].mean);
        assert_true(variance > least);
        least = variance;
    }
    assert_int_equal(spec_modulated_pair(&mean, &variance, 0.75, 0.2, 0.0, 7), GSL_SUCCESS);
    assert_near(mean, spec_capped_geometric_mean(0.75, 7), 1e-15);
    assert_near(variance, spec_capped_geometric_variance(0.75, 7), 1e-14);
    /* rho = 1: a mixture of two iid rounds */
    double high = spec_capped_geometric_mean(0.95, 7), low = spec_capped_geometric_mean(0.55, 7);
    assert_int_equal(spec_modulated_pair(&mean, &variance, 0.75, 0.2, 1.0, 7), GSL_SUCCESS);
    assert_near(mean, 0.5 * (high + low), 1e-14);
    assert_near(
        variance,
        0.5 * (spec_capped_geometric_variance(0.95, 7) + spec_capped_geometric_variance(0.55, 7)) +
            0.25 * (high - low) * (high - low),
        1e-13);
    /* rho = -1: the two states alternate */
    double even[] = {0.95, 0.55, 0.95, 0.55}, odd[] = {0.55, 0.95, 0.55, 0.95};
    assert_int_equal(spec_modulated_pair(&mean, &variance, 0.75, 0.2, -1.0, 4), GSL_SUCCESS);
    assert_near(mean,
                0.5 * (spec_capped_geometric_positional_mean(even, 4) +
                       spec_capped_geometric_positional_mean(odd, 4)),
                1e-14);
    /* no draft */
    assert_int_equal(spec_modulated_pair(&mean, &variance, 0.75, 0.2, 0.27, 0), GSL_SUCCESS);
    assert_same(mean, 1.0);
    assert_same(variance, 0.0);
}

TEST(hidden_input_outside_the_domain)
{
    double mean = 7.0, variance = 7.0;
#define REFUSED(...)                                                                               \
    do {                                                                                           \
        mean = variance = 7.0;                                                                     \
        assert_int_equal(__VA_ARGS__, GSL_EDOM);                                                   \
        assert_same(mean, 0.0);                                                                    \
        assert_same(variance, 0.0);                                                                \
    } while (0)
    REFUSED(spec_modulated_mean_variance(&mean, &variance, start3, stay3, accept3, 0, 3));
    REFUSED(spec_modulated_mean_variance(&mean, &variance, start3, stay3, accept3, 3, -1));
    REFUSED(spec_modulated_mean_variance(&mean, &variance, accept3, stay3, accept3, 3, 3));
    REFUSED(spec_modulated_mean_variance(&mean, &variance, (double[]){0.5, 0.8, -0.3}, stay3,
                                         accept3, 3, 3));
    double moving[9];
    for (int at = 0; at < 9; at++) {
        memcpy(moving, stay3, sizeof moving);
        moving[at] += 2e-9;
        REFUSED(spec_modulated_mean_variance(&mean, &variance, start3, moving, accept3, 3, 3));
        moving[at] = NAN;
        REFUSED(spec_modulated_mean_variance(&mean, &variance, start3, moving, accept3, 3, 3));
    }
    const double bad[] = {-1e-300, 1.0 + 1e-15, NAN, 2.0};
    for (int i = 0; i < 4; i++) {
        for (int s = 0; s < 3; s++) {
            double chances[3] = {0.0, 0.27, 1.0};
            assert_int_equal(
                spec_modulated_mean_variance(&mean, &variance, start3, stay3, chances, 3, 3),
                GSL_SUCCESS);
            chances[s] = bad[i];
            REFUSED(spec_modulated_mean_variance(&mean, &variance, start3, stay3, chances, 3, 3));
        }
        REFUSED(spec_modulated_pair(&mean, &variance, bad[i], 0.0, 0.27, 3));
    }
    REFUSED(spec_modulated_pair(&mean, &variance, 0.75, 0.26, 0.27, 3));
    REFUSED(spec_modulated_pair(&mean, &variance, 0.25, 0.26, 0.27, 3));
    REFUSED(spec_modulated_pair(&mean, &variance, 0.75, 0.2, 1.1, 3));
    REFUSED(spec_modulated_pair(&mean, &variance, 0.75, 0.2, -1.1, 3));
    REFUSED(spec_modulated_pair(&mean, &variance, 0.75, 0.2, NAN, 3));
    REFUSED(spec_modulated_pair(&mean, &variance, 0.75, 0.2, 0.27, -1));
    assert_int_equal(spec_modulated_pair(&mean, &variance, 0.75, 0.25, 1.0, 3), GSL_SUCCESS);
}

/* ---- visible contexts ------------------------------------------------------------------------ */

enum { V = 3 };

/* A Markov pair of order 1 over three tokens: accept[s][t] = min(target, draft); reject is the rest
 * of the target, and bonus is the target. */
static const double target3[] = {0.5, 0.3, 0.2, 0.1, 0.27, 0.63, 0.385, 0.4, 0.215};
static const double draft3[] = {0.2, 0.5, 0.3, 0.3, 0.3, 0.4, 0.385, 0.115, 0.5};

static void token_rule(double *accept, double *reject, const double *target, const double *draft,
                       int n)
{
    for (int i = 0; i < n; i++) {
        accept[i] = fmin(target[i], draft[i]);
        reject[i] = fmax(target[i] - draft[i], 0.0);
    }
}

/* As in spec_modulated_pair_chain. */
typedef struct {
    const double *accept, *reject, *bonus;
    int S, K;
} pair;

/* Every path of a round from context s, token by token: adds to the laws of n_emitted and of the
 * next context. */
static void walk(double *law, double *next, const pair *p, int s, int n_accepted, double weight)
{
    for (int t = 0; t < p->S; t++) {
        const int move = s * p->S + t;
        double end = n_accepted == p->K ? p->bonus[move] : p->reject[move];
        law[n_accepted] += weight * end;
        next[t] += weight * end;
        if (n_accepted < p->K && p->accept[move] > 0.0)
            walk(law, next, p, t, n_accepted + 1, weight * p->accept[move]);
    }
}

/* Second route: enumerate the rounds from each context, iterate the kernel until it is stationary,
 * and take moments of the mixed law. */
static void by_enumeration(double *ret_mean, double *ret_variance, double *ret_start, const pair *p)
{
    const int S = p->S, K = p->K;
    double law[V][16] = {{0}}, kernel[V][V] = {{0}}, at[V] = {1.0};
    for (int s = 0; s < S; s++) walk(law[s], kernel[s], p, s, 0, 1.0);
    for (int step = 0; step < 300; step++) {
        double next[V] = {0}, total = 0.0;
        for (int s = 0; s < S; s++) {
            /* a lazy chain, which converges even if rounds alternate */
            for (int t = 0; t < S; t++) next[t] += at[s] * 0.5 * (kernel[s][t] + (s == t));
        }
        for (int t = 0; t < S; t++) total += next[t];
        for (int t = 0; t < S; t++) at[t] = next[t] / total;
    }
    double mean = 0.0, variance = 0.0;
    for (int s = 0; s < S; s++) {
        for (int k = 0; k <= K; k++) mean += at[s] * law[s][k] * (k + 1);
    }
    for (int s = 0; s < S; s++) {
        for (int k = 0; k <= K; k++)
            variance += at[s] * law[s][k] * (k + 1 - mean) * (k + 1 - mean);
    }
    *ret_mean = mean;
    *ret_variance = variance;
    memcpy(ret_start, at, (size_t)S * sizeof(double));
}

TEST(pair_chain_is_the_enumeration_of_its_rounds)
{
    double accept[9], reject[9];
    token_rule(accept, reject, target3, draft3, 9);
    for (int K = 0; K <= 6; K++) {
        double mean, variance, start[V], mean_by_walks, variance_by_walks, start_by_walks[V];
        assert_int_equal(
            spec_modulated_pair_chain(&mean, &variance, start, accept, reject, target3, V, K),
            GSL_SUCCESS);
        by_enumeration(&mean_by_walks, &variance_by_walks, start_by_walks,
                       &(pair){accept, reject, target3, V, K});
        assert_near(mean, mean_by_walks, 1e-13);
        assert_within(variance, variance_by_walks, 1e-13 * (1.0 + variance_by_walks));
        for (int s = 0; s < V; s++) assert_near(start[s], start_by_walks[s], 1e-13);
        double again, variance_again;
        assert_int_equal(
            spec_modulated_pair_chain(&again, &variance_again, NULL, accept, reject, target3, V, K),
            GSL_SUCCESS);
        assert_same(again, mean);
        assert_same(variance_again, variance);
    }
}

/* If the next context does not depend on the outcome, the pair chain equals the hidden chain,
 * started in that law. */
TEST(contexts_without_memory_are_iid)
{
    const double next[V] = {0.2, 0.5, 0.3}, chance[V] = {0.95, 0.27, 0.6};
    double accept[9], reject[9], bonus[9], mean, variance, start[V];
    for (int i = 0; i < 9; i++) {
        accept[i] = chance[i / 3] * next[i % 3];
        reject[i] = (1.0 - chance[i / 3]) * next[i % 3];
        bonus[i] = next[i % 3];
    }
    double alpha = 0.2 * 0.95 + 0.5 * 0.27 + 0.3 * 0.6;
    assert_int_equal(
        spec_modulated_pair_chain(&mean, &variance, start, accept, reject, bonus, V, 5),
        GSL_SUCCESS);
    for (int s = 0; s < V; s++) assert_near(start[s], next[s], 1e-14);
    assert_near(mean, spec_capped_geometric_mean(alpha, 5), 1e-14);
    assert_near(variance, spec_capped_geometric_variance(alpha, 5), 1e-13);
}

TEST(a_perfect_and_a_hopeless_draft)
{
    const double nothing[9] = {0};
    double mean, variance;
    assert_int_equal(
        spec_modulated_pair_chain(&mean, &variance, NULL, target3, nothing, target3, V, 5),
        GSL_SUCCESS);
    assert_near(mean, 6.0, 1e-15);
    assert_within(variance, 0.0, 1e-28);
    assert_int_equal(
        spec_modulated_pair_chain(&mean, &variance, NULL, nothing, target3, target3, V, 5),
        GSL_SUCCESS);
    assert_same(mean, 1.0);
    assert_same(variance, 0.0);
    /* deterministic moves that are all accepted have probabilities of exactly 1 */
    const double cycle[9] = {0, 1, 0, 0, 0, 1, 1, 0, 0};
    double start[V];
    assert_int_equal(
        spec_modulated_pair_chain(&mean, &variance, start, cycle, nothing, cycle, V, 3),
        GSL_SUCCESS);
    assert_same(mean, 4.0);
    assert_same(variance, 0.0);
    for (int s = 0; s < V; s++) assert_near(start[s], 1.0 / 3.0, 1e-15);
}

TEST(a_law_that_is_not_unique_is_singular)
{
    const double apart[4] = {1, 0, 0, 1}, nothing[4] = {0};
    double mean = 7.0, variance = 7.0, start[2] = {7.0, 7.0};
    assert_int_equal(
        spec_modulated_pair_chain(&mean, &variance, start, nothing, apart, apart, 2, 3), GSL_ESING);
    assert_same(mean, 0.0);
    assert_same(variance, 0.0);
    assert_same(start[0], 0.0);
    assert_same(start[1], 0.0);
    /* the contexts of an alternating target form one class, but rounds of two tokens visit only one
     * of its phases */
    const double swap[4] = {0, 1, 1, 0};
    assert_int_equal(spec_modulated_pair_chain(&mean, &variance, start, swap, nothing, swap, 2, 1),
                     GSL_ESING);
    assert_int_equal(spec_modulated_pair_chain(&mean, &variance, start, swap, nothing, swap, 2, 2),
                     GSL_SUCCESS);
    assert_same(mean, 3.0);
    assert_same(start[0], 0.5);
}

TEST(rows_may_be_off_by_their_rounding)
{
    double accept[9], reject[9], bonus[9], mean, variance, exact, exact_variance;
    token_rule(accept, reject, target3, draft3, 9);
    assert_int_equal(
        spec_modulated_pair_chain(&exact, &exact_variance, NULL, accept, reject, target3, V, 200),
        GSL_SUCCESS);
    for (int i = 0; i < 9; i++) { /* each row is too large by 9e-10, and over 200 steps more than
                                   * the tolerance of one */
        accept[i] *= 1.0 + 9e-10;
        reject[i] *= 1.0 + 9e-10;
        bonus[i] = target3[i] * (1.0 + 9e-10);
    }
    assert_int_equal(
        spec_modulated_pair_chain(&mean, &variance, NULL, accept, reject, bonus, V, 200),
        GSL_SUCCESS);
    assert_near(mean, exact, 1e-7);
    assert_near(variance, exact_variance, 1e-6);
}

/* Two symmetric contexts and long rounds, whose kernel is then off by 1e-3: still one half each. */
TEST(rows_that_drift_apart_are_made_whole)
{
    const double off = 1.0 + 9e-10, keep = 1.0 - 1e-6;
    const double accept[4] = {0.73 * keep * off, 0.27 * keep * off, 0.27 * keep * off,
                              0.73 * keep * off};
    const double reject[4] = {1e-6 * off, 0, 0, 1e-6 * off},
                 bonus[4] = {0.9 * off, 0.1 * off, 0.1 * off, 0.9 * off};
    double mean, variance, start[2];
    assert_int_equal(
        spec_modulated_pair_chain(&mean, &variance, start, accept, reject, bonus, 2, 1000000),
        GSL_SUCCESS);
    assert_near(start[0], 0.5, 1e-9);
    assert_near(start[1], 0.5, 1e-9);
}

TEST(one_context_is_iid)
{
    const double accept = 0.27, reject = 0.73, bonus = 1.0;
    double mean, variance, start;
    assert_int_equal(
        spec_modulated_pair_chain(&mean, &variance, &start, &accept, &reject, &bonus, 1, 4),
        GSL_SUCCESS);
    assert_near(mean, spec_capped_geometric_mean(0.27, 4), 1e-15);
    assert_near(variance, spec_capped_geometric_variance(0.27, 4), 2e-15);
    assert_same(start, 1.0);
}

TEST(pair_input_outside_the_domain)
{
    double accept[9], reject[9], bonus[9], mean, variance, start[V];
    for (int at = 0; at < 27; at++) {
        for (int kind = 0; kind < 3; kind++) {
            token_rule(accept, reject, target3, draft3, 9);
            memcpy(bonus, target3, sizeof bonus);
            double *entry = at < 9 ? &accept[at] : at < 18 ? &reject[at - 9] : &bonus[at - 18];
            *entry = kind == 0 ? *entry + 2e-9 : kind == 1 ? NAN : -1.0;
            for (int s = 0; s < V; s++) start[s] = 7.0;
            REFUSED(
                spec_modulated_pair_chain(&mean, &variance, start, accept, reject, bonus, V, 2));
            for (int s = 0; s < V; s++) assert_same(start[s], 0.0);
        }
    }
    token_rule(accept, reject, target3, draft3, 9);
    REFUSED(spec_modulated_pair_chain(&mean, &variance, NULL, accept, reject, target3, 0, 2));
    start[0] = 7.0;
    REFUSED(spec_modulated_pair_chain(&mean, &variance, start, accept, reject, target3, 0, 2));
    REFUSED(spec_modulated_pair_chain(&mean, &variance, start, accept, reject, target3, -1, 2));
    start[2] = 7.0;
    REFUSED(spec_modulated_pair_chain(&mean, &variance, start, accept, reject, target3, V, -1));
    assert_same(start[2], 0.0);
}
