/* rows: the rows of a file as a model: what a target and a draft said at the places of a real text, without them.
 *     rows:FILE?side=target&at=-1&begin=-1
 * A row depends on the place alone, and the place goes on by one with each token, whichever it is; after the last place
 * comes the first. The model owns its mapping of the file. docs/formats.md#rows says what of this is exact. */
#ifndef SPECLAB_ROWS_H
#define SPECLAB_ROWS_H

#include "models/model.h"
#include "models/rows/rows_file.h"

/* Tokens by which a context tells where it began; most places where prompts end. */
enum { SPEC_ROWS_PROMPT = 16, SPEC_ROWS_PROMPTS_MAX = 1024 };

/* side   target, draft (the first one), draft2, ... draft7
 * at     the row of this place after any context: a model of order 0; -1: off
 * begin  the place of the empty context, from which every context counts; there are no prompts. -1: a context of n
 *        tokens that begins with a prompt is at the prompt's place + n - 16, any other at place n
 *
 * Prompts are the 16 tokens of the text before places that are spread evenly over the file, which numbers of prompts
 * go through in an order that is even from the start. The file's own text, from its first token on, is at place n after
 * n tokens. No token ends a text. */
extern const spec_model_kind spec_model_rows;

/* The file behind a model, through wrappers, where its row depends on the place (so not with `at`); else NULL.
 * *opt_begin: the place of a context that no prompt begins, before its first token. */
const spec_rows_file *spec_rows_of(const spec_model *model, uint64_t *opt_begin);

/* The law of the place where a text of such a model begins, over its prompts, into ret_law (places). */
void spec_rows_starts(double *ret_law, const spec_model *model);

/* The file's first tokens, as many as it has places, in a new array that the caller frees; NULL where memory runs out.
 * No prompt begins them. */
int *spec_rows_text(const spec_rows_file *file);

#endif
