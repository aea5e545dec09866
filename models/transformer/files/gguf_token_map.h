/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_token_map: reads which tokens a draft's output has, if it has fewer than its target.
 * GGUF files hold them as tokens; safetensors hold offsets (models/import/head_tokens.h). */
#ifndef SPECLAB_GGUF_TOKEN_MAP_H
#define SPECLAB_GGUF_TOKEN_MAP_H

#include "models/transformer/files/gguf.h"

#define SPEC_GGUF_TOKEN_MAP "d2t"

/* Reads the distinct tokens (*ret_n), in memory that the caller frees; NULL and `vocab` if the file
 * has none. Returns GSL_EINVAL, with one line, for another type or shape, and for tokens that are
 * out of range or repeated. */
int spec_gguf_token_map_read(int **ret_token, int *ret_n, const spec_gguf *gguf, int vocab,
                             spec_error *error);

#endif
