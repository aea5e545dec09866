/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_source: an open GGUF file, and other memory needed by the model or draft made from it.
 * Tensors point into the file, so it is closed only when the model is freed. */
#ifndef SPECLAB_GGUF_SOURCE_H
#define SPECLAB_GGUF_SOURCE_H

#include "models/transformer/files/gguf_types.h"

typedef struct {
    spec_gguf gguf;
    char *path;
    float *opt_rope_factor; /* for both ropes (gguf_attention.h) */
} spec_gguf_source;

/* Opens a file. On failure *ret_source is NULL. */
int spec_gguf_source_init(spec_gguf_source **ret_source, const char *path, spec_error *error);

/* Closes the source, which may be NULL; used as the free_owned of a checkpoint or a draft. */
void spec_gguf_source_free(void *source);

#endif
