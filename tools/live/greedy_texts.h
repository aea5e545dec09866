/* SPDX-License-Identifier: GPL-3.0-or-later */
/* greedy_texts: compares texts drawn at temperature 0 with the scorer's most probable tokens.
 * A token that is not the most probable one is a tie if the scorer's own rounding could have chosen
 * it, and wrong if not. The margin of a token is the difference between the largest
 * log-probability of its position and its own. */
#ifndef SPECLAB_GREEDY_TEXTS_H
#define SPECLAB_GREEDY_TEXTS_H

#include "tools/live/collect.h"

enum { SPEC_GREEDY_BUCKETS = 8 };

/* Upper ends of the histogram of margins; the last bucket has no end. */
extern const double spec_greedy_ends[SPEC_GREEDY_BUCKETS - 1];

typedef struct {
    int texts, different; /* all texts; those with a token that is not the most probable one */
    int wrong_texts;      /* texts with a wrong token */
    int lost_texts;       /* texts in which most tokens from the first wrong one on are wrong */
    uint64_t tokens, ties, wrong;
    uint64_t bucket[SPEC_GREEDY_BUCKETS]; /* margins of ties and wrong tokens */
    double largest, largest_tie;          /* largest margin of all; of the ties alone */
    /* the first wrong token of all texts */
    int text, position;
    int32_t token, best;
    double margin;
} spec_greedy_texts;

/* Counts a token that is not `best`; margins up to `tie` are ties. Returns whether it is wrong. For
 * equal seeds, `best` is the plain server's token, and the margin the probability between them. */
bool spec_greedy_count(spec_greedy_texts *ret, int text, int position, int32_t token, int32_t best,
                       double margin, double tie);

/* Adds a text. */
void spec_greedy_add(spec_greedy_texts *ret, const spec_served_text *text, double tie);

/* Returns whether wrong tokens are evidence against the server. They are if the scorer's own texts
 * (the control) have none, or so few that two equal servers would differ this much with probability
 * at most `rate` (Fisher's exact test, one-sided). */
bool spec_greedy_accused(const spec_greedy_texts *served, const spec_greedy_texts *control,
                         double rate);

#endif
