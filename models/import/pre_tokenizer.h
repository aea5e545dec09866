/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pre_tokenizer: which of the tokenizers of tokenizer.h a tokenizer.json describes.
 * Hugging Face describes a tokenizer by steps: normalizer, pre_tokenizer, model, post_processor.
 * Only combinations whose meaning is known are accepted. */
#ifndef SPECLAB_PRE_TOKENIZER_H
#define SPECLAB_PRE_TOKENIZER_H

#include "models/transformer/tokenizer/tokenizer.h"

#include <jansson.h>

/* Set kind, pre and adds_space; the rest is zero, and no token unknown. Known are byte-level BPE
 * with a pre-tokenizer of pre_expressions.h (but not all), and BPE with byte fallback as it is made
 * from SentencePiece. GSL_EINVAL with one line that names the step which is not known. */
int spec_pre_tokenizer_read(spec_tokenizer_data *ret, const json_t *root, const char *path,
                            spec_error *error);

/* Whether the post_processor puts a special token in front of a text, and its name, or "". Returns
 * whether there is a post_processor. */
bool spec_pre_tokenizer_begins(bool *ret_begins, const char **ret_begin, const json_t *root);

#endif
