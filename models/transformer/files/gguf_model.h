/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_model: writes a transformer from memory as a GGUF file that llama.cpp and speclab can read.
 * The shape comes from the checkpoint, the vocabulary from a model's file or from memory. Matrices
 * keep their type, vectors become F32. */
#ifndef SPECLAB_GGUF_MODEL_H
#define SPECLAB_GGUF_MODEL_H

#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/gguf_writer.h"
#include "speclab/listener.h"

/* Where a vocabulary comes from: from a model's file (kind llama2c or gguf) or from its data. If
 * neither is set there is none. */
typedef struct {
    const spec_settings *opt_file;
    const spec_tokenizer_data *opt_data;
} spec_gguf_model_vocabulary;

/* How a model is written; each field may be NULL. */
typedef struct {
    const spec_listener *opt_listener; /* receives the share of the tensors that is written */
    const volatile int *opt_stop;
    int (*opt_announce)(void *self, uint64_t bytes,
                        /* called with the size of the file before weights are written; if it fails,
                         * the work ends */
                        spec_error *error);
    void *self;
    const void *(*opt_experts)(void *experts, spec_part part, int layer,
                               int expert); /* returns the rows of one expert, a matrix in its type
                                               or biases as F32; needed if the checkpoint does not
                                               have the rows of all experts */
    void *experts;
    const void *(*opt_recurrent)(void *recurrent, spec_part part, int layer,
                                 int row); /* returns a row of a matrix of a recurrent layer; needed
                                              if the checkpoint has them in another order */
    void *recurrent;
    const char *opt_name;          /* name of the model */
    const char *opt_chat_template; /* for programs that write chats as texts */
} spec_gguf_model_watch;

/* Writes a model to `path`, replacing that file only at the end; the replaced file is kept as
 * PATH.bak with the number *ret_kept (base/new_file.h), 0 if there was none. A model with biases of
 * query, key and value gets the architecture qwen2, which rotates halves. Any other gets llama,
 * which rotates adjacent pairs, and rows of queries and keys that rotate halves are reordered for
 * it. Returns GSL_EINVAL if the vocabulary cannot be read or has another size, GSL_EFAILED if
 * writing failed or *opt_stop became nonzero; no file remains. */
int spec_gguf_model_write(int *ret_kept, const spec_checkpoint *model,
                          const spec_gguf_model_vocabulary *vocabulary, const char *path,
                          const spec_gguf_model_watch *opt_watch, spec_error *error);

/* Adds the values of a shape, after "general.architecture". */
void spec_gguf_model_shape(spec_gguf_writer *writer, const char *architecture,
                           const spec_shape *shape);

/* Returns which of the original rows goes to `row` when queries and keys that rotate halves are
 * reordered so that adjacent pairs rotate. */
int spec_gguf_model_row_of_halves(int row, int head_dim);

/* Adds the values of a vocabulary; data->vocab 0: a model without one. SPM is spelled as in
 * SentencePiece. begin, end and adds_begin come from the checkpoint. */
int spec_gguf_model_pieces(spec_gguf_writer *writer, const spec_checkpoint *model,
                           const spec_tokenizer_data *data, spec_error *error);

#endif
