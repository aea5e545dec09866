/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tuples: every tuple of draft tokens with its probability, for small vocabularies.
 * Tests sum a rule's acceptance, and the optimum, over these. The code shares nothing with the code
 * under test. */
#ifndef SPECLAB_TESTS_TUPLES_H
#define SPECLAB_TESTS_TUPLES_H

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdbool.h>

enum { TUPLES_V = 5, TUPLES_N = 5, TUPLES_MAX = 625 };

typedef struct {
    int n, size; /* tokens in each tuple; number of tuples */
    int token[TUPLES_MAX][TUPLES_N];
    double chance[TUPLES_MAX];
} tuples;

static inline void tuples_add(tuples *all, const int *token, int n, double chance)
{
    if (chance == 0) return;
    for (int k = 0; k < n; k++) all->token[all->size][k] = token[k];
    all->chance[all->size++] = chance;
    all->n = n;
}

static inline void tuples_iid_from(tuples *all, const double *draft, int V, int n, int *token,
                                   int k, double chance)
{
    if (k == n || k == TUPLES_N) {
        tuples_add(all, token, k, chance);
        return;
    }
    for (int x = 0; x < V; x++) {
        token[k] = x;
        tuples_iid_from(all, draft, V, n, token, k + 1, chance * draft[x]);
    }
}

static inline void tuples_iid(tuples *all, const double *draft, int V, int n)
{
    int token[TUPLES_N];
    all->size = 0;
    tuples_iid_from(all, draft, V, n, token, 0, 1);
}

/* Computes the law of the next draft without replacement after k tokens: the draft on the other
 * tokens, or uniform on them if it has no mass there. */
static inline void tuples_next(double *ret_law, const double *draft, int V, const int *token, int k)
{
    double left = 0;
    for (int x = 0; x < V; x++) {
        bool drawn = false;
        for (int j = 0; j < k; j++) drawn |= token[j] == x;
        ret_law[x] = drawn ? -1 : draft[x];
        if (!drawn) left += draft[x];
    }
    for (int x = 0; x < V; x++) {
        if (ret_law[x] < 0) {
            ret_law[x] = 0;
        } else {
            ret_law[x] = left > 0 ? ret_law[x] / left : 1.0 / (V - k);
        }
    }
}

static inline void tuples_without_from(tuples *all, const double *draft, int V, int n, int *token,
                                       int k, double chance)
{
    double law[TUPLES_V];
    if (k == n || k == V || k == TUPLES_N) {
        tuples_add(all, token, k, chance);
        return;
    }
    tuples_next(law, draft, V, token, k);
    for (int x = 0; x < V; x++) {
        token[k] = x;
        if (law[x] > 0) tuples_without_from(all, draft, V, n, token, k + 1, chance * law[x]);
    }
}

static inline void tuples_without_replacement(tuples *all, const double *draft, int V, int n)
{
    int token[TUPLES_N];
    all->size = 0;
    tuples_without_from(all, draft, V, n, token, 0, 1);
}

/* The most probable token outside token (k); among equal ones the first. */
static inline int tuples_top(const double *draft, int V, const int *token, int k)
{
    int best = -1;
    for (int x = 0; x < V; x++) {
        bool taken = false;
        for (int j = 0; j < k; j++) taken |= token[j] == x;
        if (!taken && (best < 0 || draft[x] > draft[best])) best = x;
    }
    return best;
}

/* The n - 1 most probable tokens and one of the rest; n <= V. */
static inline void tuples_greedy(tuples *all, const double *draft, int V, int n)
{
    int token[TUPLES_N];
    double law[TUPLES_V];
    all->size = 0;
    for (int k = 0; k < n - 1; k++) token[k] = tuples_top(draft, V, token, k);
    tuples_next(law, draft, V, token, n - 1);
    for (int x = 0; x < V; x++) {
        token[n - 1] = x;
        tuples_add(all, token, n, law[x]);
    }
}

/* The most probable token, one of the tail, and the n - 2 most probable of the others. 2 <= n <=
 * V. */
static inline void tuples_tail(tuples *all, const double *draft, int V, int n)
{
    int token[TUPLES_N] = {tuples_top(draft, V, NULL, 0)};
    double law[TUPLES_V];
    all->size = 0;
    tuples_next(law, draft, V, token, 1);
    for (int x = 0; x < V; x++) {
        token[1] = x;
        for (int k = 2; k < n; k++) token[k] = tuples_top(draft, V, token, k);
        tuples_add(all, token, n, law[x]);
    }
}

/* SpecHub's pairs: the second token is the hub unless the first is. V >= 2. */
static inline void tuples_hub(tuples *all, const double *draft, int V)
{
    int hub = tuples_top(draft, V, NULL, 0);
    double law[TUPLES_V];
    tuples_next(law, draft, V, &hub, 1);
    all->size = 0;
    for (int x = 0; x < V; x++) {
        if (x == hub) continue;
        tuples_add(all, (int[2]){x, hub}, 2, draft[x]);
        tuples_add(all, (int[2]){hub, x}, 2, draft[hub] * law[x]);
    }
}

/* A random row (V). kind 0: smooth; 1: peaked, spread over many orders; 2: small whole weights, so
 * that ties and zeros are common; 3: one or two tokens only. */
static inline void tuples_row(double *ret_row, int V, int kind, gsl_rng *rng)
{
    double sum = 0;
    do {
        sum = 0;
        for (int x = 0; x < V; x++) {
            double u = gsl_rng_uniform_pos(rng);
            ret_row[x] = kind == 0     ? -log(u)
                         : kind == 1   ? pow(u, 12)
                         : kind == 2   ? floor(4 * u)
                         : u < 1.5 / V ? u
                                       : 0;
            sum += ret_row[x];
        }
    } while (sum <= 0);
    for (int x = 0; x < V; x++) ret_row[x] /= sum;
}

#endif
