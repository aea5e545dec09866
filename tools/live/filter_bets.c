/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/filter_bets.h"

#include "analysis/statistics/evalue.h"
#include "tools/live/dialects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double slip = 0.02;

enum filter_kind { TOP_K, TOP_P, MIN_P };
static const struct {
    enum filter_kind kind;
    double at;
} filters[SPEC_FILTER_BETS] = {
    {TOP_K, 2},    {TOP_K, 3},   {TOP_K, 4},    {TOP_K, 5},    {TOP_K, 6},    {TOP_K, 8},
    {TOP_K, 10},   {TOP_K, 12},  {TOP_K, 16},   {TOP_K, 20},   {TOP_K, 30},   {TOP_K, 40},
    {TOP_K, 50},   {TOP_K, 64},  {TOP_K, 100},  {TOP_P, 0.5},  {TOP_P, 0.6},  {TOP_P, 0.7},
    {TOP_P, 0.8},  {TOP_P, 0.9}, {TOP_P, 0.95}, {TOP_P, 0.98}, {MIN_P, 0.01}, {MIN_P, 0.02},
    {MIN_P, 0.05}, {MIN_P, 0.1}, {MIN_P, 0.2},  {MIN_P, 0.3},
};
static const char *const names[] = {"top-k", "top-p", "min-p"};

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Returns how many of the n listed tokens filter f keeps, the most probable ones, or -1 if it may
 * keep others, too. chance[n] is in descending order; sum[i] is the sum of its first i+1. */
static int kept(int f, const double *chance, const double *sum, int n)
{
    const double at = filters[f].at;
    int i = 0;
    switch (filters[f].kind) {
    case TOP_K: return n >= (int)at ? (int)at : -1;
    case TOP_P:
        while (i < n && sum[i] < at) i++;
        return i < n ? i + 1 : -1;
    default:
        while (i < n && chance[i] >= at * chance[0]) i++;
        return i < n ? i : -1;
    }
}

void spec_filter_bets_add(spec_filter_bets *bets, const double *target, int n_cells, int cell)
{
    double chance[SPEC_LIVE_TOP], sum[SPEC_LIVE_TOP];
    const int n = n_cells - 1;
    int rank = 0; /* index of the token; n if it is not in the list */
    if (n < 1 || n > SPEC_LIVE_TOP) return;
    for (int i = 0; i < n; i++) {
        chance[i] = target[i];
        rank += cell == n || target[i] > target[cell] || (target[i] == target[cell] && i < cell);
    }
    qsort(chance, (size_t)n, sizeof *chance, descending);
    for (int i = 0; i < n; i++) sum[i] = chance[i] + (i > 0 ? sum[i - 1] : 0.0);
    for (int f = 0; f < SPEC_FILTER_BETS; f++) {
        const int keeps = kept(f, chance, sum, n);
        if (keeps <= 0) continue;
        const double in = sum[keeps - 1];
        if (!(in > 0.0 && in < 1.0)) continue;
        bets->expected[f] += 1.0 - in;
        bets->seen[f] += rank >= keeps;
        bets->log_e[f] += log(slip + (rank < keeps ? (1.0 - slip) / in : 0.0));
    }
}

double spec_filter_bets_log_e(const spec_filter_bets *bets)
{
    return spec_evalue_mean(bets->log_e, SPEC_FILTER_BETS);
}

int spec_filter_bets_best(char name[32], const spec_filter_bets *bets)
{
    int best = 0;
    for (int f = 1; f < SPEC_FILTER_BETS; f++)
        if (bets->log_e[f] > bets->log_e[best]) best = f;
    snprintf(name, 32, "%s %g", names[filters[best].kind], filters[best].at);
    return best;
}
