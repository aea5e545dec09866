/* SPDX-License-Identifier: GPL-3.0-or-later */
/* translated_model: makes a draft with another vocabulary read and predict the target's tokens.
 * Tokens with the same text are partners, and so are the end-of-text tokens. In contexts, a target
 * token without a partner is replaced by the draft's tokens for its text; in rows it has
 * probability 0 [TimorV25]. It is a wrapper (models/wrapper.h), owns the draft and borrows the
 * target. */
#ifndef SPECLAB_TRANSLATED_MODEL_H
#define SPECLAB_TRANSLATED_MODEL_H

#include "models/model.h"

/* Rows are renormalised over the tokens with partners. If a row has no mass there, or the text
 * exceeds the draft's window, the row is uniform over these tokens. If several tokens have the same
 * text, the lowest is the partner. Returns GSL_EINVAL for a model without texts, a draft that is
 * built from the target, and vocabularies without a common token. On failure the caller keeps the
 * draft. */
int spec_translated_model_open(spec_model **ret_model, spec_model *draft, const spec_model *target,
                               spec_error *error);

/* Returns whether the model, or a wrapper inside it, translates. */
bool spec_translated_model_is(const spec_model *model);

/* Returns the number of the target's tokens that have a partner; 0 for any other model. */
int spec_translated_model_partners(const spec_model *model);

#endif
