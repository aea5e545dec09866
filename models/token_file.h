/* SPDX-License-Identifier: GPL-3.0-or-later */
/* token_file: a file as tokens of a model: its text, or token numbers without a tokenizer.
 * Numbers are separated by blanks and lines. The whole file is one text. The caller frees the
 * tokens. */
#ifndef SPECLAB_TOKEN_FILE_H
#define SPECLAB_TOKEN_FILE_H

#include "models/model.h"

/* The largest file, in bytes. */
enum { SPEC_TOKEN_FILE_BYTES = 1 << 28 };

/* GSL_EINVAL for a file that is too large or has no tokens, and for a word that is no token number;
 * GSL_EFAILED if it cannot be read. The line begins with the path. */
int spec_token_file_read(int **ret_token, int *ret_n, const char *path, const spec_model *model,
                         spec_error *error);

/* The same for a file of token numbers below `vocab`, with or without a tokenizer. */
int spec_token_file_read_numbers(int **ret_token, int *ret_n, const char *path, int vocab,
                                 spec_error *error);

#endif
