/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_kind: finds out whether a GGUF file holds a transformer or a draft, and of which kind.
 * Files of llama.cpp and of speclab: models/heads/head_file.h, models/dflash/dflash_file.h. */
#ifndef SPECLAB_GGUF_KIND_H
#define SPECLAB_GGUF_KIND_H

#include "models/transformer/files/gguf_types.h"

#include <stddef.h>

/* Finds a kind of `speclab list models`, which points into the container: the kind of a draft head;
 * "dflash"; "mtp" for draft blocks without the model's layers; "gguf" for everything else. The file
 * of a head may name a kind that does not exist. Returns GSL_EINVAL if a value has another type. */
int spec_gguf_kind(spec_piece *ret_kind, const spec_gguf *gguf, spec_error *error);

/* Does the same for a path, with a terminating zero; "gguf" if the file or its kind cannot be read,
 * or if the kind is longer than the buffer. The only error is GSL_ENOMEM. */
int spec_gguf_kind_of_path(char *ret_kind, size_t size, const char *path, spec_error *error);

#endif
