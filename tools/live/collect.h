/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collect: has one server draw texts, and another one, or a model here, score them.
 * Text i continues prompt i modulo the number of prompts, with its own seed, so a run that skips
 * some texts draws the others just as a complete run does. */
#ifndef SPECLAB_COLLECT_H
#define SPECLAB_COLLECT_H

#include "tools/live/dialects.h"

/* A text, with the scorer's most probable tokens at each of its positions. */
typedef struct {
    int number;
    spec_live_tokens all;   /* the prompt, then the text */
    int n_prompt, n;        /* tokens of the prompt, and of the text */
    spec_live_place *place; /* (n) */
} spec_served_text;

typedef struct {
    const spec_live_server *text, *score;
    /* If not NULL, this fills in text->place, instead of the server `score`. */
    int (*opt_local)(void *scorer, spec_served_text *text, spec_error *error);
    void *scorer;
    const spec_live_tokens *prompt; /* (n_prompts) */
    int n_prompts, first, texts, top; /* draws the texts first..texts - 1 */
    spec_live_sampling sampling;
    uint64_t seed;
    const bool *opt_done; /* (texts) texts to skip */
    bool backwards;       /* scores prefixes from the longest on */
    spec_http_work how;   /* lanes, time-outs, stop */
} spec_collect_plan;

/* Takes a finished text, and keeps no reference to it. */
typedef int spec_collect_have(void *self, const spec_served_text *text, spec_error *error);

/* Draws and scores the texts. Also returns GSL_SUCCESS if *opt_stop was set, although texts are
 * then missing. */
int spec_collect(const spec_collect_plan *plan, spec_collect_have *have, void *self,
                 spec_error *error);

/* Scores texts again: text->place gets the new scores. */
int spec_collect_rescore(const spec_collect_plan *plan, spec_served_text *text, int n,
                         spec_error *error);

/* Prepares a text that has a prompt, and room for n tokens. Returns GSL_ENOMEM. */
int spec_served_text_init(spec_served_text *ret, const spec_live_tokens *prompt, int n,
                          spec_error *error);

/* Copies a text. Returns GSL_ENOMEM. */
int spec_served_text_copy(spec_served_text *ret, const spec_served_text *text, spec_error *error);
void spec_served_text_free(spec_served_text *text);

#endif
