/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prompt: the tokens of a prompt on the command line, for any model.
 * A model with a tokenizer takes text; any other takes token numbers separated by blanks or
 * commas. */
#ifndef SPECLAB_PROMPT_H
#define SPECLAB_PROMPT_H

#include "models/model.h"

/* Returns the tokens of `text` (n bytes), which the caller frees. Exits 2, naming the option, if a
 * word is not a token. */
int *spec_prompt_tokens(size_t *ret_n, const char *option, const char *text, size_t n,
                        const spec_model *model, const char *verb);

#endif
