/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/owned.h"
#include "tools/live/filter_bets.h"
#include "tools/live/greedy_texts.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <string.h>

enum { LISTED = 20, CELLS = LISTED + 1 };

/* Draws a row of random weights, of which 5 % are outside the list. */
static void draw_row(double row[CELLS], gsl_rng *rng)
{
    double sum = 0.0;
    for (int i = 0; i < LISTED; i++) sum += row[i] = exp(-6.0 * gsl_rng_uniform(rng));
    for (int i = 0; i < LISTED; i++) row[i] *= 0.95 / sum;
    row[LISTED] = 0.05;
}

TEST(a_right_server_gains_nothing_on_average)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int times = 0; times < 50; times++) {
        double row[CELLS], mean[SPEC_FILTER_BETS] = {0.0};
        draw_row(row, rng);
        for (int cell = 0; cell < CELLS; cell++) {
            spec_filter_bets bets = {{0.0}, {0.0}, {0.0}};
            spec_filter_bets_add(&bets, row, CELLS, cell);
            for (int f = 0; f < SPEC_FILTER_BETS; f++) mean[f] += row[cell] * exp(bets.log_e[f]);
        }
        for (int f = 0; f < SPEC_FILTER_BETS; f++) assert_within(mean[f], 1.0, 1e-12);
    }
}

/* Returns whether a filter keeps listed token i, straight from its definition. */
static bool keeps(const double row[CELLS], int i, int top_k, double top_p, double min_p)
{
    double above = 0.0, most = 0.0;
    int rank = 0;
    for (int k = 0; k < LISTED; k++) {
        most = fmax(most, row[k]);
        if (row[k] > row[i]) above += row[k], rank++;
    }
    return rank < top_k && above < top_p && row[i] >= min_p * most;
}

TEST(the_filter_of_a_server_is_named, STATISTICS)
{
    static const struct {
        const char *name;
        int top_k;
        double top_p, min_p;
    } server[] = {{"top-k 8", 8, 1.0, 0.0},
                  {"top-k 20", 20, 1.0, 0.0},
                  {"top-p 0.9", LISTED, 0.9, 0.0},
                  {"min-p 0.1", LISTED, 1.0, 0.1}};
    for (size_t s = 0; s < sizeof server / sizeof *server; s++) {
        OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
        spec_filter_bets bets = {{0.0}, {0.0}, {0.0}};
        char name[32];
        for (int t = 0; t < 2000; t++) {
            double row[CELLS];
            int cell;
            draw_row(row, rng);
            do { /* draws from the row until the filter keeps the token */
                double u = gsl_rng_uniform(rng);
                for (cell = 0; cell < LISTED && (u -= row[cell]) >= 0.0; cell++) continue;
            } while (cell == LISTED ||
                     !keeps(row, cell, server[s].top_k, server[s].top_p, server[s].min_p));
            spec_filter_bets_add(&bets, row, CELLS, cell);
        }
        const int best = spec_filter_bets_best(name, &bets);
        assert_string_equal(name, server[s].name);
        assert_true(bets.seen[best] == 0.0 && bets.expected[best] > 20.0);
        assert_true(spec_filter_bets_log_e(&bets) > 15.0);
    }
}

TEST(a_filter_that_ends_outside_of_the_list_makes_no_bet)
{
    const double row[] = {0.3, 0.25, 0.45}; /* two listed tokens */
    spec_filter_bets bets = {{0.0}, {0.0}, {0.0}};
    char name[32];
    spec_filter_bets_add(&bets, row, 3, 0);
    for (int f = 0; f < SPEC_FILTER_BETS; f++) /* top-k 2 and top-p .5 keep both, no other */
        assert_within(bets.expected[f], bets.log_e[f] != 0.0 ? 0.45 : 0.0, 1e-12);
    spec_filter_bets_best(name, &bets);
    assert_string_equal(name, "top-k 2");
}

/* ---- greedy texts ---------------------------------------------------------------------------- */

static double choose(int n, int k)
{
    return exp(gsl_sf_lnchoose((unsigned)n, (unsigned)k));
}

/* By enumeration: returns in what share of all ways to divide the wrong texts between the two
 * servers the first one has at least as many. */
TEST(wrong_greedy_texts_accuse_if_the_scorers_own_are_fewer)
{
    for (int n = 1; n <= 12; n++)
        for (int own = 0; own <= n; own++)
            for (int wrong = 0; wrong <= n; wrong++) {
                const spec_greedy_texts served = {.texts = n, .wrong_texts = wrong},
                                        control = {.texts = n, .wrong_texts = own};
                double tail = 0.0;
                for (int k = wrong; k <= n && k <= wrong + own; k++)
                    if (wrong + own - k <= n)
                        tail +=
                            choose(n, k) * choose(n, wrong + own - k) / choose(2 * n, wrong + own);
                assert_int_equal(spec_greedy_accused(&served, &control, 0.01),
                                 wrong > 0 && (own == 0 || tail <= 0.01));
            }
    const spec_greedy_texts most = {.texts = 64, .wrong_texts = 56},
                            few = {.texts = 64, .wrong_texts = 5},
                            one = {.texts = 64, .wrong_texts = 1};
    assert_true(spec_greedy_accused(&most, &one, 1e-6));
    assert_false(spec_greedy_accused(&few, &one, 1e-6));
}
