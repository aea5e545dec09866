/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local_scorer: a model that speclab runs itself, as the scorer of a server's texts.
 * It reads the server's token ids. One pass scores a whole text; a row does not depend on how many
 * are computed with it, so the scores themselves have no noise. */
#ifndef SPECLAB_LOCAL_SCORER_H
#define SPECLAB_LOCAL_SCORER_H

#include "live/collect.h"
#include "models/model.h"

typedef struct {
    spec_model *model;
    spec_session session;
    int begin;     /* the token that the model itself puts before each text; -1: none */
    int top;       /* most tokens of a list */
    int *index;    /* (top) */
    double *space; /* rows of one part of a text */
} spec_local_scorer;

/* The scorer's place among the servers: it has a name, and answers no requests. */
extern const spec_dialect spec_local_scorer_dialect;

/* Returns whether --score-by names a model rather than an address. */
bool spec_local_scorer_is_model(const char *word);

/* Opens the model of a spec, without its weights. Returns GSL_EINVAL if it has no tokenizer, or if
 * the spec has a temperature or filters, which belong to the server; or the model's error. */
int spec_local_scorer_open(spec_local_scorer *ret, const char *spec, spec_context *opt_context,
                           spec_error *error);

/* Loads the weights, for lists of `top` tokens. */
int spec_local_scorer_load(spec_local_scorer *scorer, int top, spec_error *error);
void spec_local_scorer_free(spec_local_scorer *scorer); /* accepts a zeroed one */

/* Returns whether a text has these tokens by the model's own tokenizer. */
bool spec_local_scorer_agrees(const spec_local_scorer *scorer, const char *text,
                              const spec_live_tokens *tokens);

/* Fills text->place (spec_collect_plan.opt_local). Returns GSL_EINVAL, with a line, for a token
 * that the model lacks, a text that does not begin as the model's texts do, or one that is longer
 * than its context. */
int spec_local_scorer_score(void *scorer, spec_served_text *text, spec_error *error);

/* Draws a text of `tokens` tokens at temperature 1, token by token, with its scores; it goes on
 * after an end of text. The caller frees it. */
int spec_local_scorer_draw(spec_local_scorer *scorer, spec_served_text *ret,
                           const spec_live_tokens *prompt, int tokens, uint64_t seed,
                           spec_error *error);

#endif
