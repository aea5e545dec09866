/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local_scorer: a model that speclab runs itself, as the scorer of a server's texts.
 * It takes the server's token ids. One pass scores a whole text; a row does not depend on the other
 * rows of the pass, so the scores themselves have no noise. */
#ifndef SPECLAB_LOCAL_SCORER_H
#define SPECLAB_LOCAL_SCORER_H

#include "models/model.h"
#include "tools/live/collect.h"

typedef struct {
    spec_model *model;
    spec_session session;
    int begin;     /* the token that the model itself puts before each text; -1: none */
    int top;       /* maximum tokens of a list */
    int *index;    /* (top) */
    double *space; /* the rows of a pass */
} spec_local_scorer;

/* Stands in for a server's dialect: it has a name, but no requests. */
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

/* Returns whether the model's own tokenizer splits a text into these tokens. */
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
