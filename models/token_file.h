/* SPDX-License-Identifier: GPL-3.0-or-later */
/* token_file: reads a file as tokens: from text, or as numbers if the model has no tokenizer.
 * Blanks or line breaks separate numbers. The file is one text. The caller frees the tokens. */
#ifndef SPECLAB_TOKEN_FILE_H
#define SPECLAB_TOKEN_FILE_H

#include "models/model.h"

/* The largest file, in bytes. */
enum { SPEC_TOKEN_FILE_BYTES = 1 << 28 };

/* Reads a file. Returns GSL_EINVAL if it is too large, has no tokens, or has a word that is not a
 * token number; GSL_EFAILED if it cannot be read. The line begins with the path. */
int spec_token_file_read(int **ret_token, int *ret_n, const char *path, const spec_model *model,
                         spec_error *error);

/* Does the same for a file of token numbers below `vocab`, with or without a tokenizer. */
int spec_token_file_read_numbers(int **ret_token, int *ret_n, const char *path, int vocab,
                                 spec_error *error);

#endif
