/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_model: a transformer in memory, written as a GGUF file that llama.cpp and speclab read.
 * The shape comes from the checkpoint, the vocabulary from a model's file or from memory. Matrices
 * keep their type, vectors become F32. */
#ifndef SPECLAB_GGUF_MODEL_H
#define SPECLAB_GGUF_MODEL_H

#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/gguf_writer.h"
#include "speclab/listener.h"

/* The source of a vocabulary: a model's file (kind llama2c or gguf), or its data; neither: none. */
typedef struct {
    const spec_settings *opt_file;
    const spec_tokenizer_data *opt_data;
} spec_gguf_model_vocabulary;

/* How a model is written; each field may be NULL. */
typedef struct {
    const spec_listener *opt_listener; /* is told the share of the tensors written so far */
    const volatile int *opt_stop;
    int (*opt_announce)(void *self, uint64_t bytes,
                        spec_error *error); /* is told the size of the file before its weights are
                                               written; a failure ends the work */
    void *self;
    const void *(*opt_experts)(void *experts, spec_part part, int layer,
                               int expert); /* gives one expert's rows, if the checkpoint lacks
                                               those of all: a matrix in its type, or biases as
                                               F32 */
    void *experts;
    const char *opt_name;          /* name of the model */
    const char *opt_chat_template; /* for programs that write chats as texts */
} spec_gguf_model_watch;

/* Writes a model to `path`, replacing that file only at the end; *ret_kept is the number of the
 * former file, which was kept (base/new_file.h), or 0. The architecture is qwen2, which rotates
 * halves, for a model with biases of query, key and value, else llama, which rotates adjacent
 * pairs: rows of queries and keys that rotate halves are written in that order. Returns GSL_EINVAL
 * if the vocabulary cannot be read or has another size, GSL_EFAILED if writing failed or *opt_stop
 * became nonzero; no file remains. */
int spec_gguf_model_write(int *ret_kept, const spec_checkpoint *model,
                          const spec_gguf_model_vocabulary *vocabulary, const char *path,
                          const spec_gguf_model_watch *opt_watch, spec_error *error);

/* Adds the values of a shape, after "general.architecture". */
void spec_gguf_model_shape(spec_gguf_writer *writer, const char *architecture,
                           const spec_shape *shape);

/* Returns the row that rotation of adjacent pairs needs at `row` of queries or keys that rotate
 * halves. */
int spec_gguf_model_row_of_halves(int row, int head_dim);

/* Adds the values of a vocabulary; data->vocab 0: a model without one. SPM is spelled as in
 * SentencePiece. begin, end and adds_begin come from the checkpoint. */
int spec_gguf_model_pieces(spec_gguf_writer *writer, const spec_checkpoint *model,
                           const spec_tokenizer_data *data, spec_error *error);

#endif
