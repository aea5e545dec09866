/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/places.h"

#include "analysis/law.h"

#include <stdlib.h>
#include <string.h>

/* Advances the rounds in progress, stored by the position of their next token, by one draft token:
 * rounds that accept it move one position on in `next`, and the others enter `ended` at that
 * position. Returns the probability that rounds go on. */
static double test_token(double *under_way, double *next, double *ended, const double *beta, int n)
{
    double accepted = 0.0;
    for (int i = 0; i + 1 < n; i++) {
        next[i + 1] = under_way[i] * beta[i];
        ended[i + 1] += under_way[i] - next[i + 1];
        accepted += next[i + 1];
    }
    next[0] = under_way[n - 1] * beta[n - 1];
    ended[0] += under_way[n - 1] - next[0];
    return accepted + next[0];
}

/* Moves each round that was accepted in full past its bonus token. */
static void move_on(double *ended, const double *under_way, int n)
{
    for (int i = 0; i + 1 < n; i++) ended[i + 1] += under_way[i];
    ended[0] += under_way[n - 1];
}

int spec_places_mean(double *ret_mean, const double *beta, const double *start, int n, int K,
                     size_t burn_in, size_t rounds)
{
    *ret_mean = 0.0;
    if (K < 0 || rounds < 1 || !spec_law_is_whole(spec_law_sum(start, n))) return GSL_EDOM;
    for (int i = 0; i < n; i++)
        if (!(beta[i] >= 0.0 && beta[i] <= 1.0)) return GSL_EDOM;
    const size_t size = (size_t)n * sizeof *start;
    double *store = malloc(3 * size), sum = 0.0;
    if (store == NULL) return GSL_ENOMEM;
    double *under_way = store, *next = store + n, *ended = next + n;
    memcpy(under_way, start, size);
    for (size_t round = 0; round < burn_in + rounds; round++) {
        double emitted = 1.0;
        memset(ended, 0, size);
        for (int k = 0; k < K; k++) {
            emitted += test_token(under_way, next, ended, beta, n);
            double *const old = under_way;
            under_way = next;
            next = old;
        }
        move_on(ended, under_way, n);
        memcpy(under_way, ended, size);
        if (round >= burn_in) sum += emitted;
    }
    *ret_mean = sum / (double)rounds;
    free(store);
    return GSL_SUCCESS;
}
