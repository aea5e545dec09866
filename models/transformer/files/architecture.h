/* SPDX-License-Identifier: GPL-3.0-or-later */
/* architecture: what distinguishes one family of transformers from another, as data.
 * Readers, writers and the forward pass ask this table and the checkpoint's tensors; none of them
 * has code for one family alone, except llama.cpp's recipes of types (type_recipe.c). The struct is
 * in checkpoint.h. */
#ifndef SPECLAB_ARCHITECTURE_H
#define SPECLAB_ARCHITECTURE_H

#include "models/transformer/files/checkpoint_parts.h"

extern const spec_architecture spec_architectures[]; /* ends with a NULL name */

/* The architecture of this name, or NULL. */
const spec_architecture *spec_architecture_find(spec_piece name);

/* The names of all, as a list for error lines: "llama, qwen2 and qwen3". */
enum { SPEC_ARCHITECTURE_NAMES_SIZE = 128 };
const char *spec_architecture_names(char names[SPEC_ARCHITECTURE_NAMES_SIZE]);

/* The architecture of a checkpoint, also of one that does not name it. */
const spec_architecture *spec_architecture_of(const spec_checkpoint *checkpoint);

bool spec_architecture_must(const spec_architecture *architecture, spec_part part);
bool spec_architecture_may(const spec_architecture *architecture, spec_part part);

/* The first part of a checkpoint's computation that llama and qwen2 do not have, for error lines:
 * "norms of heads"; NULL if there is none. */
const char *spec_architecture_extra(const spec_checkpoint *checkpoint);

/* GSL_EINVAL, and a line that `what` ("gpu:0", "training") does not compute this architecture
 * because of its extra part. */
int spec_architecture_need_plain(const spec_checkpoint *checkpoint, const char *what,
                                 const char *instead, spec_error *error);

#endif
