/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/exact_walk.h"

#include "analysis/acceptance/text_rounds.h"

void spec_exact_walk_add(spec_exact_walk *walk, const double *accept, int places, int first,
                         double *room)
{
    const double *begin = accept + (long)first * walk->K;
    const spec_text_rounds_draft draft = {.n = (size_t)(places - first),
                                          .stride = (size_t)walk->K,
                                          .ratio = begin,
                                          .overlap = begin,
                                          .going = begin};
    for (int k = 1; k <= walk->K; k++) {
        spec_text_rounds sum = {walk->rounds[k], walk->tokens[k]};
        spec_text_rounds_add(&sum, NULL, NULL, room, &draft, k);
        walk->rounds[k] = sum.rounds;
        walk->tokens[k] = sum.emitted;
    }
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
