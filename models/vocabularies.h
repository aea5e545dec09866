/* vocabularies: do target and draft speak of the same tokens?
 * As many tokens in both, and, where both know what their tokens stand for, the same text for each. Owns
 * nothing. */
#ifndef SPECLAB_VOCABULARIES_H
#define SPECLAB_VOCABULARIES_H

#include "models/model.h"

/* Does the model have words of its own: text for its tokens, and tokens for a text? */
bool spec_vocabularies_speaks(const spec_model *model);

/* GSL_EINVAL with a line that names both sizes, or the first token whose texts differ within their first
 * SPEC_VOCABULARIES_BYTES bytes. Two calls of token_text a token: milliseconds for 128,000. */
enum { SPEC_VOCABULARIES_BYTES = 255 };
int spec_vocabularies_check(const spec_model *target, const spec_model *draft, spec_error *error);

#endif
