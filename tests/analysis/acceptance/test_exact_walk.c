/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk's expectations equal those from enumerating all outcomes, and closed forms. */
#include "analysis/acceptance/exact_walk.h"
#include "analysis/capped_geometric.h"
#include "base/noise.h"
#include "tests/support/support.h"

#include <math.h>

enum { PLACES = 6, K = 3, FIRST = 1 };

static double chance(uint64_t i)
{
    return (double)(spec_noise_word(5, i) >> 11) * 0x1p-53;
}

/* Computes the expected rounds and tokens of a walk that is at `place`, over all outcomes of its
 * rounds. */
static void enumerate(double *ret_rounds, double *ret_tokens, double accept[PLACES][K], int place,
                      int k)
{
    *ret_rounds = *ret_tokens = 0.0;
    if (place >= PLACES) return;
    for (int accepted = 0; accepted <= k; accepted++) {
        double probability = 1.0, rounds, tokens;
        for (int d = 0; d < accepted; d++) probability *= accept[place][d];
        if (accepted < k) probability *= 1.0 - accept[place][accepted];
        enumerate(&rounds, &tokens, accept, place + accepted + 1, k);
        *ret_rounds += probability * (1.0 + rounds);
        *ret_tokens += probability * (accepted + 1 + tokens);
    }
}

TEST(it_equals_the_sum_over_all_outcomes)
{
    double accept[PLACES][K], room[PLACES];
    spec_exact_walk walk = {.K = K};
    for (int t = 0; t < PLACES; t++)
        for (int d = 0; d < K; d++) accept[t][d] = chance((uint64_t)(t * K + d));
    accept[3][1] = 0.0;
    accept[4][0] = 1.0;
    spec_exact_walk_add(&walk, &accept[0][0], PLACES, FIRST, room);
    for (int k = 1; k <= K; k++) {
        double rounds, tokens;
        enumerate(&rounds, &tokens, accept, FIRST, k);
        assert_true(fabs(walk.rounds[k] - rounds) < 1e-12);
        assert_true(fabs(walk.tokens[k] - tokens) < 1e-12);
    }
    double first = 0.0, second = 0.0;
    for (int t = FIRST; t < PLACES; t++) {
        first += accept[t][0];
        second += accept[t][0] * accept[t][1];
    }
    assert_true(fabs(spec_exact_walk_alpha(&walk, 1) - first / (PLACES - FIRST)) < 1e-12);
    assert_true(fabs(spec_exact_walk_alpha(&walk, 2) - second / first) < 1e-12);
}

TEST(a_constant_acceptance_gives_the_capped_geometric_mean)
{
    enum { LONG = 200 };
    double accept[LONG][K], room[LONG];
    spec_exact_walk walk = {.K = K};
    for (int t = 0; t < LONG; t++)
        for (int d = 0; d < K; d++) accept[t][d] = 0.7;
    for (int text = 0; text < 2; text++)
        spec_exact_walk_add(&walk, &accept[0][0], LONG, text * 50, room);
    for (int k = 1; k <= K; k++)
        assert_true(fabs(spec_exact_walk_tokens_per_round(&walk, k) -
                         spec_capped_geometric_mean(0.7, k)) < 1e-12);
    assert_true(fabs(spec_exact_walk_alpha(&walk, 3) - 0.7) < 1e-12);
}

/* Acceptance is 1 and 0 in turn, so rounds with one draft token begin at every second position
 * only, and always accept. The mean over all positions would be 1.5. */
TEST(rounds_do_not_begin_everywhere)
{
    enum { LONG = 100 };
    double accept[LONG][K], room[LONG];
    spec_exact_walk walk = {.K = 1};
    for (int t = 0; t < LONG; t++) (&accept[0][0])[t] = t % 2 == 0 ? 1.0 : 0.0;
    spec_exact_walk_add(&walk, &accept[0][0], LONG, 0, room);
    assert_true(spec_exact_walk_tokens_per_round(&walk, 1) == 2.0);
    assert_true(spec_exact_walk_alpha(&walk, 1) == 0.5);
}
