/* SPDX-License-Identifier: GPL-3.0-or-later */
/* architecture: a table of the differences between families of transformers.
 * Readers, writers and the forward pass ask this table and the checkpoint's tensors; none of them
 * has code for a single family, except llama.cpp's recipes of types (type_recipe.c). The struct is
 * in checkpoint.h. */
#ifndef SPECLAB_ARCHITECTURE_H
#define SPECLAB_ARCHITECTURE_H

#include "models/transformer/files/checkpoint_parts.h"

extern const spec_architecture spec_architectures[]; /* ends with a NULL name */

/* Returns the architecture of this name, or NULL. */
const spec_architecture *spec_architecture_find(spec_piece name);

/* Writes and returns the names of all architectures, as a list for error lines: "llama, qwen2 and
 * qwen3". */
enum { SPEC_ARCHITECTURE_NAMES_SIZE = 128 };
const char *spec_architecture_names(char names[SPEC_ARCHITECTURE_NAMES_SIZE]);

/* Returns the architecture of a checkpoint, even one that does not name it. */
const spec_architecture *spec_architecture_of(const spec_checkpoint *checkpoint);

bool spec_architecture_must(const spec_architecture *architecture, spec_part part);
bool spec_architecture_may(const spec_architecture *architecture, spec_part part);

/* Returns the first part of a checkpoint's computation that llama and qwen2 do not have, for error
 * lines: "norms of heads"; NULL if there is none. */
const char *spec_architecture_extra(const spec_checkpoint *checkpoint);

/* Returns GSL_EINVAL if the architecture has an extra part; the line says that `what` ("gpu:0",
 * "training") cannot compute this architecture because of that part. */
int spec_architecture_need_plain(const spec_checkpoint *checkpoint, const char *what,
                                 const char *instead, spec_error *error);

#endif
