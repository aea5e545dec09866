/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_model: a transformer in memory, written as a GGUF file that llama.cpp and speclab read.
 * The shape comes from the checkpoint, the vocabulary from a model's file or from memory. Matrices
 * keep their types. */
#ifndef SPECLAB_GGUF_MODEL_H
#define SPECLAB_GGUF_MODEL_H

#include "models/transformer/files/checkpoint.h"
#include "models/transformer/files/gguf_writer.h"

/* The source of a vocabulary: a model's file (kind llama2c or gguf), or its data; neither: none. */
typedef struct {
    const spec_settings *opt_file;
    const spec_tokenizer_data *opt_data;
} spec_gguf_model_vocabulary;

/* Write a model to `path`, replacing that file only at the end; *ret_kept is the number of the
 * former file, which was kept (base/new_file.h), or 0. GSL_EINVAL if the vocabulary cannot be read
 * or has another size, GSL_EFAILED if writing failed; no file remains. */
int spec_gguf_model_write(int *ret_kept, const spec_checkpoint *model,
                          const spec_gguf_model_vocabulary *vocabulary, const char *path,
                          spec_error *error);

/* The values of a shape, after "general.architecture". */
void spec_gguf_model_shape(spec_gguf_writer *writer, const char *architecture,
                           const spec_shape *shape);

/* The values of a vocabulary, spelled as SentencePiece does; data->vocab 0: a model without one.
 * begin, end and adds_begin come from the checkpoint. */
int spec_gguf_model_pieces(spec_gguf_writer *writer, const spec_checkpoint *model,
                           const spec_tokenizer_data *data, spec_error *error);

#endif
