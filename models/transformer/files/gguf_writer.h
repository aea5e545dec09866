/* gguf_writer: a GGUF file, version 3, written front to back, and seen when it is whole (base/new_file.h).
 *     init; values and tensors, in any order; open; the tensors' data, in the order they were named; close
 * A write that failed is told at the next end of a tensor. The writer owns its buffers and the file. */
#ifndef SPECLAB_GGUF_WRITER_H
#define SPECLAB_GGUF_WRITER_H

#include "base/new_file.h"
#include "models/transformer/files/gguf.h"

typedef struct {
    char *values, *tensors; /* of open_memstream */
    size_t values_bytes, tensors_bytes;
    FILE *value_out, *tensor_out;
    uint64_t n_values, n_tensors;
    uint64_t offset;   /* of the next tensor's data */
    uint64_t written;  /* of the file */
    int failure;       /* errno of the first write that failed, or 0 */
    spec_new_file file;
} spec_gguf_writer;

int spec_gguf_writer_init(spec_gguf_writer *writer, spec_error *error);
void spec_gguf_writer_free(spec_gguf_writer *writer); /* removes an unfinished file; a zeroed one is fine */

/* A named value; an array; one that was read, as it stood. */
void spec_gguf_writer_u32(spec_gguf_writer *writer, const char *key, uint32_t value);
void spec_gguf_writer_f32(spec_gguf_writer *writer, const char *key, float value);
void spec_gguf_writer_bool(spec_gguf_writer *writer, const char *key, bool value);
void spec_gguf_writer_text(spec_gguf_writer *writer, const char *key, const char *value);
void spec_gguf_writer_texts(spec_gguf_writer *writer, const char *key, const spec_piece *item, size_t n);
void spec_gguf_writer_reals(spec_gguf_writer *writer, const char *key, const float *item, size_t n);
void spec_gguf_writer_integers(spec_gguf_writer *writer, const char *key, const int *item, size_t n);
void spec_gguf_writer_value(spec_gguf_writer *writer, const spec_gguf_value *value);

/* Name a tensor, of one dimension where it has one row. */
void spec_gguf_writer_tensor(spec_gguf_writer *writer, const char *name, spec_tensor_type type, int rows, int cols);

/* Begin the file. GSL_EINVAL where `path` is there and no regular file, GSL_EFAILED where it cannot be written. */
int spec_gguf_writer_open(spec_gguf_writer *writer, const char *path, spec_error *error);

/* Bytes of the data of a tensor, in pieces of any size, and its end. */
void spec_gguf_writer_data(spec_gguf_writer *writer, const void *data, size_t bytes);
int spec_gguf_writer_tensor_end(spec_gguf_writer *writer, spec_error *error);

/* The file has its name now. GSL_EFAILED where not all of it could be written; then there is none. */
int spec_gguf_writer_close(spec_gguf_writer *writer, spec_error *error);

#endif
