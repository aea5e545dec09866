/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/greedy_texts.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

const double spec_greedy_ends[SPEC_GREEDY_BUCKETS - 1] = {1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0, 3.0};

/* A token that is not in the list has at least the margin of the last listed one, or, with
 * penalties, of the most probable one that may be missing. */
static double margin_of(const spec_live_place *place, int32_t token)
{
    int i = 0;
    while (i < place->n && place->top[i].id != token) i++;
    if (i < place->n) return place->top[0].log - place->top[i].log;
    if (place->n == 0) return 0.0;
    return place->top[0].log -
           (place->unlisted < 0.0 ? place->unlisted : place->top[place->n - 1].log);
}

bool spec_greedy_count(spec_greedy_texts *g, int text, int position, int32_t token, int32_t best,
                       double margin, double tie)
{
    int bucket = 0;
    while (bucket < SPEC_GREEDY_BUCKETS - 1 && margin > spec_greedy_ends[bucket]) bucket++;
    g->bucket[bucket]++;
    g->largest = fmax(g->largest, margin);
    if (margin <= tie) {
        g->largest_tie = fmax(g->largest_tie, margin);
        g->ties++;
        return false;
    }
    if (g->wrong++ > 0) return true;
    g->text = text;
    g->position = position;
    g->token = token;
    g->best = best;
    g->margin = margin;
    return true;
}

void spec_greedy_add(spec_greedy_texts *g, const spec_served_text *text, double tie)
{
    int first = -1, wrong = 0, ties = 0;
    for (int i = 0; i < text->n; i++) {
        const int32_t token = text->all.token[text->n_prompt + i];
        const double margin = margin_of(&text->place[i], token);
        if (!(margin > 0.0)) continue;
        if (!spec_greedy_count(g, text->number, i, token, text->place[i].top[0].id, margin, tie))
            ties++;
        else if (wrong++ == 0)
            first = i;
    }
    g->texts++;
    g->tokens += (uint64_t)text->n;
    g->different += ties + wrong > 0;
    g->wrong_texts += wrong > 0;
    g->lost_texts += wrong > 2 && 2 * wrong > text->n - first;
}

bool spec_greedy_accused(const spec_greedy_texts *served, const spec_greedy_texts *control,
                         double rate)
{
    if (served->wrong_texts == 0) return false;
    if (control->wrong_texts == 0) return true;
    const unsigned wrong = (unsigned)(served->wrong_texts + control->wrong_texts),
                   texts = (unsigned)(served->texts + control->texts);
    return gsl_cdf_hypergeometric_Q((unsigned)served->wrong_texts - 1, wrong, texts - wrong,
                                    (unsigned)served->texts) <= rate;
}
