/* SPDX-License-Identifier: GPL-3.0-or-later */
/* copying_text: a random text that repeats its own passages, and a drafter that follows it.
 * Each round accepts the draft as far as the text agrees. A test may end a round differently. Owns
 * its drafter and its text. */
#ifndef SPECLAB_TESTS_COPYING_TEXT_H
#define SPECLAB_TESTS_COPYING_TEXT_H

#include "sim/draft/drafter.h"

enum { COPYING_TEXT_MAX = 2048 };

typedef struct {
    int V;
    spec_model *target;
    spec_drafter drafter;
    spec_draft draft;
    spec_policy policy;
    int token[COPYING_TEXT_MAX];
    int n_text, n; /* the whole text, and the context */
    uint64_t noise;
} copying_text;

/* Opens a drafter of chains or trees for texts over V tokens, or fails the test. */
void copying_text_init(copying_text *t, const char *drafting, int V, int K, uint64_t seed);
void copying_text_free(copying_text *t);

/* Makes another text of n_text tokens, the first n_prompt of which are the prompt. */
void copying_text_begin(copying_text *t, int n_text, int n_prompt);

int copying_text_below(copying_text *t, int n); /* random, 0..n-1 */

/* Runs one round: drafts, and returns how many tokens of the draft agree with the text, at most
 * `most`. */
int copying_text_draft(copying_text *t, int most);

/* Ends the round with that number of accepted tokens. */
void copying_text_accept(copying_text *t, int n_accepted);

#endif
