/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pre_tokenizer: finds the tokenizer of tokenizer.h that a tokenizer.json describes.
 * Hugging Face describes a tokenizer as steps: normalizer, pre_tokenizer, model, post_processor. We
 * accept only combinations that we understand. */
#ifndef SPECLAB_PRE_TOKENIZER_H
#define SPECLAB_PRE_TOKENIZER_H

#include "models/transformer/tokenizer/tokenizer.h"

#include <jansson.h>

/* Sets kind, pre and adds_space; the rest is zero, and there is no unknown token. It knows
 * byte-level BPE with most pre-tokenizers of pre_expressions.h, and BPE with byte fallback as made
 * from SentencePiece. Returns GSL_EINVAL, with one line that names the unknown step. */
int spec_pre_tokenizer_read(spec_tokenizer_data *ret, const json_t *root, const char *path,
                            spec_error *error);

/* Finds whether the post_processor puts a special token in front of a text, and the name of that
 * token, or "". Returns whether there is a post_processor. */
bool spec_pre_tokenizer_begins(bool *ret_begins, const char **ret_begin, const json_t *root);

#endif
