/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/train/exact_walk.h"

/* Adds rounds of k draft tokens: room[t] is the probability that a round begins at position t. */
static void add_rounds(spec_exact_walk *walk, const double *accept, int places, int first,
                       double *room, int k)
{
    for (int t = 0; t < places; t++) room[t] = t == first ? 1.0 : 0.0;
    for (int t = first; t < places; t++) {
        const double *at = accept + (long)t * walk->K;
        double all = room[t]; /* the round begins here, and all draft tokens so far are accepted */
        walk->rounds[k] += all;
        walk->tokens[k] += all;
        for (int d = 0; d < k; d++) {
            const double stops = all * (1.0 - at[d]);
            all *= at[d];
            walk->tokens[k] += all;
            if (t + d + 1 < places) room[t + d + 1] += stops;
        }
        if (t + k + 1 < places) room[t + k + 1] += all;
    }
}

void spec_exact_walk_add(spec_exact_walk *walk, const double *accept, int places, int first,
                         double *room)
{
    for (int k = 1; k <= walk->K; k++) add_rounds(walk, accept, places, first, room, k);
    for (int t = first; t < places; t++) {
        double all = 1.0;
        walk->accepted[0] += all;
        for (int d = 0; d < walk->K; d++)
            walk->accepted[d + 1] += all *= accept[(long)t * walk->K + d];
    }
}

double spec_exact_walk_tokens_per_round(const spec_exact_walk *walk, int k)
{
    return walk->tokens[k] / walk->rounds[k];
}

double spec_exact_walk_alpha(const spec_exact_walk *walk, int d)
{
    return walk->accepted[d] / walk->accepted[d - 1];
}
