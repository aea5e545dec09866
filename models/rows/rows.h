/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rows: a model that reads its rows from a file, recorded from a target and its drafts.
 *     rows:FILE?side=target&at=-1&begin=-1
 * A row depends only on the place in the file (rows_file.h). Each token, whatever it is, leads to
 * the next place, and from the last place back to the first. The model owns its mapping of the
 * file. docs/formats.md#rows says which results are exact. */
#ifndef SPECLAB_ROWS_H
#define SPECLAB_ROWS_H

#include "models/model.h"
#include "models/rows/rows_file.h"

/* How many tokens locate a context in the file, and the most places where prompts end. */
enum { SPEC_ROWS_PROMPT = 16, SPEC_ROWS_PROMPTS_MAX = 1024 };

/* side target, draft (the first one), draft2, ... draft7 at take the row of this place after any
 * context, which makes a model of order 0; -1: off begin the place of the empty context, from which
 * the place of every context is counted; there are then no prompts. -1: a context of n tokens that
 * begins with a prompt is at the prompt's place + n - 16, any other is at place n
 *
 * Prompts are the 16 tokens of the text before places that are spread evenly over the file. Prompt
 * numbers visit them in an order in which the first few are spread evenly, too. The file's own
 * text, read from its first token, is at place n after n tokens. No token ends a text. */
extern const spec_model_kind spec_model_rows;

/* Returns the file of a model, through wrappers, if its row depends on the place (no `at`); else
 * NULL. *opt_begin: the place where a context that does not begin with a prompt starts. */
const spec_rows_file *spec_rows_of(const spec_model *model, uint64_t *opt_begin);

/* Writes to ret_law (places) how likely it is, over the prompts, that a text of such a model begins
 * at each place. */
void spec_rows_starts(double *ret_law, const spec_model *model);

/* Returns the file's first tokens, one per place, in a new array that the caller frees; NULL if out
 * of memory. They do not begin with a prompt. */
int *spec_rows_text(const spec_rows_file *file);

#endif
