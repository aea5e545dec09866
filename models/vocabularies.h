/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vocabularies: checks whether target and draft share one vocabulary.
 * They do if both have the same number of tokens and, if both have texts, the same text for
 * each. */
#ifndef SPECLAB_VOCABULARIES_H
#define SPECLAB_VOCABULARIES_H

#include "models/model.h"

/* Returns whether the model has texts for its tokens and can tokenize. */
bool spec_vocabularies_speaks(const spec_model *model);

/* Returns GSL_EINVAL if the vocabularies differ. The message gives both sizes, or the first token
 * whose text differs in the draft. Only the first SPEC_VOCABULARIES_BYTES bytes of a text are
 * compared. Makes two calls of token_text per token, which takes milliseconds for 128,000
 * tokens. */
enum { SPEC_VOCABULARIES_BYTES = 255 };
int spec_vocabularies_check(const spec_model *target, const spec_model *draft, spec_error *error);

#endif
