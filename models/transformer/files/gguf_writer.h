/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_writer: writes a GGUF file, version 3, front to back.
 *     init; values and tensors, in any order; open; the tensors' data, in the order of their
 *     names; close
 * The file appears only when it is complete (base/new_file.h). A failed write is reported when the
 * next tensor ends. The writer owns its buffers and the file. */
#ifndef SPECLAB_GGUF_WRITER_H
#define SPECLAB_GGUF_WRITER_H

#include "base/memory_text.h"
#include "base/new_file.h"
#include "models/transformer/files/gguf.h"

typedef struct {
    spec_memory_text values, tensors; /* until _open */
    uint64_t n_values, n_tensors;
    uint64_t offset;  /* offset of the next tensor's data */
    uint64_t written; /* bytes of the file so far */
    int failure;      /* errno of the first write that failed, or 0 */
    spec_new_file file;
} spec_gguf_writer;

int spec_gguf_writer_init(spec_gguf_writer *writer, spec_error *error);
void spec_gguf_writer_free(
    spec_gguf_writer *writer); /* removes an unfinished file; accepts a zeroed writer */

/* Add a named value; an array; a value as it was read. */
void spec_gguf_writer_u32(spec_gguf_writer *writer, const char *key, uint32_t value);
void spec_gguf_writer_f32(spec_gguf_writer *writer, const char *key, float value);
void spec_gguf_writer_bool(spec_gguf_writer *writer, const char *key, bool value);
void spec_gguf_writer_text(spec_gguf_writer *writer, const char *key, const char *value);
void spec_gguf_writer_texts(spec_gguf_writer *writer, const char *key, const spec_piece *item,
                            size_t n);
void spec_gguf_writer_reals(spec_gguf_writer *writer, const char *key, const float *item, size_t n);
void spec_gguf_writer_integers(spec_gguf_writer *writer, const char *key, const int *item,
                               size_t n);
void spec_gguf_writer_bools(spec_gguf_writer *writer, const char *key, const bool *item, size_t n);
void spec_gguf_writer_value(spec_gguf_writer *writer, const spec_gguf_value *value);

/* Names a tensor; one row counts as one dimension. */
void spec_gguf_writer_tensor(spec_gguf_writer *writer, const char *name, spec_tensor_type type,
                             int rows, int cols);

/* Names a tensor of n matrices (n, rows, cols), as for experts; n = 1 is one matrix. */
void spec_gguf_writer_stack(spec_gguf_writer *writer, const char *name, spec_tensor_type type,
                            int n, int rows, int cols);

/* Names a tensor of n integers; they are written as int64_t. */
void spec_gguf_writer_integer_tensor(spec_gguf_writer *writer, const char *name, int n);

/* Begins the file. Returns GSL_EINVAL if `path` exists and is not a regular file, GSL_EFAILED if it
 * cannot be written. */
int spec_gguf_writer_open(spec_gguf_writer *writer, const char *path, spec_error *error);

/* Write bytes of a tensor's data, in pieces of any size, and end the tensor. */
void spec_gguf_writer_data(spec_gguf_writer *writer, const void *data, size_t bytes);
int spec_gguf_writer_tensor_end(spec_gguf_writer *writer, spec_error *error);

/* Gives the file its name. Returns GSL_EFAILED if not all could be written; no file remains. */
int spec_gguf_writer_close(spec_gguf_writer *writer, spec_error *error);

#endif
