/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_writer.h"

#include "speclab/no_memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 3 };

static void put_u32(FILE *out, uint32_t value)
{
    fwrite(&value, sizeof value, 1, out);
}

static void put_u64(FILE *out, uint64_t value)
{
    fwrite(&value, sizeof value, 1, out);
}

static void put_piece(FILE *out, spec_piece piece)
{
    put_u64(out, piece.length);
    fwrite(piece.bytes, 1, piece.length, out);
}

static void put_text(FILE *out, const char *text)
{
    put_piece(out, (spec_piece){text, strlen(text)});
}

/* Returns the padding to the next multiple of the alignment. */
static size_t padding(uint64_t at)
{
    return (size_t)(SPEC_GGUF_ALIGNMENT - at % SPEC_GGUF_ALIGNMENT) % SPEC_GGUF_ALIGNMENT;
}

int spec_gguf_writer_init(spec_gguf_writer *writer, spec_error *error)
{
    *writer = (spec_gguf_writer){0};
    if (spec_memory_text_open(&writer->values) && spec_memory_text_open(&writer->tensors))
        return GSL_SUCCESS;
    spec_gguf_writer_free(writer);
    return spec_no_memory(error);
}

void spec_gguf_writer_free(spec_gguf_writer *writer)
{
    free(spec_memory_text_take(&writer->values, NULL));
    free(spec_memory_text_take(&writer->tensors, NULL));
    spec_new_file_free(&writer->file);
    *writer = (spec_gguf_writer){0};
}

/* ---- values ---------------------------------------------------------------------------------- */

static FILE *put_key(spec_gguf_writer *writer, const char *key, spec_gguf_type type)
{
    writer->n_values++;
    put_text(writer->values.out, key);
    put_u32(writer->values.out, type);
    return writer->values.out;
}

static FILE *put_array(spec_gguf_writer *writer, const char *key, spec_gguf_type type, size_t n)
{
    FILE *out = put_key(writer, key, SPEC_GGUF_ARRAY);
    put_u32(out, type);
    put_u64(out, n);
    return out;
}

void spec_gguf_writer_u32(spec_gguf_writer *writer, const char *key, uint32_t value)
{
    put_u32(put_key(writer, key, SPEC_GGUF_U32), value);
}

void spec_gguf_writer_f32(spec_gguf_writer *writer, const char *key, float value)
{
    fwrite(&value, sizeof value, 1, put_key(writer, key, SPEC_GGUF_F32));
}

void spec_gguf_writer_bool(spec_gguf_writer *writer, const char *key, bool value)
{
    fputc(value, put_key(writer, key, SPEC_GGUF_BOOL));
}

void spec_gguf_writer_text(spec_gguf_writer *writer, const char *key, const char *value)
{
    put_text(put_key(writer, key, SPEC_GGUF_STRING), value);
}

void spec_gguf_writer_texts(spec_gguf_writer *writer, const char *key, const spec_piece *item,
                            size_t n)
{
    FILE *out = put_array(writer, key, SPEC_GGUF_STRING, n);
    for (size_t i = 0; i < n; i++) put_piece(out, item[i]);
}

void spec_gguf_writer_reals(spec_gguf_writer *writer, const char *key, const float *item, size_t n)
{
    fwrite(item, sizeof *item, n, put_array(writer, key, SPEC_GGUF_F32, n));
}

void spec_gguf_writer_integers(spec_gguf_writer *writer, const char *key, const int *item, size_t n)
{
    fwrite(item, sizeof *item, n, put_array(writer, key, SPEC_GGUF_I32, n));
}

void spec_gguf_writer_bools(spec_gguf_writer *writer, const char *key, const bool *item, size_t n)
{
    FILE *out = put_array(writer, key, SPEC_GGUF_BOOL, n);
    for (size_t i = 0; i < n; i++) putc(item[i] ? 1 : 0, out);
}

void spec_gguf_writer_value(spec_gguf_writer *writer, const spec_gguf_value *value)
{
    FILE *out = writer->values.out;
    writer->n_values++;
    put_piece(out, value->key);
    put_u32(out, value->is_array ? SPEC_GGUF_ARRAY : value->type);
    if (value->is_array) {
        put_u32(out, value->type);
        put_u64(out, value->n);
    }
    fwrite(value->bytes, 1, value->length, out);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Adds the name of a tensor and its dimensions, without trailing dimensions of 1 after the
 * first. */
static void name_tensor(spec_gguf_writer *writer, const char *name, uint32_t type, int n, int rows,
                        int cols, size_t row_bytes)
{
    FILE *out = writer->tensors.out;
    writer->n_tensors++;
    put_text(out, name);
    put_u32(out, n != 1 ? 3 : rows != 1 ? 2 : 1);
    put_u64(out, (uint64_t)cols);
    if (n != 1 || rows != 1) put_u64(out, (uint64_t)rows);
    if (n != 1) put_u64(out, (uint64_t)n);
    put_u32(out, type);
    put_u64(out, writer->offset);
    writer->offset += (uint64_t)n * (uint64_t)rows * row_bytes;
    writer->offset += padding(writer->offset);
}

void spec_gguf_writer_tensor(spec_gguf_writer *writer, const char *name, spec_tensor_type type,
                             int rows, int cols)
{
    spec_gguf_writer_stack(writer, name, type, 1, rows, cols);
}

void spec_gguf_writer_stack(spec_gguf_writer *writer, const char *name, spec_tensor_type type,
                            int n, int rows, int cols)
{
    name_tensor(writer, name, spec_gguf_tensor_number(type), n, rows, cols,
                spec_tensor_row_bytes(type, cols));
}

void spec_gguf_writer_integer_tensor(spec_gguf_writer *writer, const char *name, int n)
{
    name_tensor(writer, name, SPEC_GGUF_INTEGERS, 1, 1, n, (size_t)n * sizeof(int64_t));
}

int spec_gguf_writer_open(spec_gguf_writer *writer, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    size_t values_bytes, tensors_bytes;
    char *values = spec_memory_text_take(&writer->values, &values_bytes);
    char *tensors = spec_memory_text_take(&writer->tensors, &tensors_bytes);
    if (values == NULL || tensors == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", path));
    SPEC_TRY(spec_new_file_open(&writer->file, path, error));
    spec_gguf_writer_data(writer, "GGUF", 4);
    spec_gguf_writer_data(writer, &(uint32_t){VERSION}, sizeof(uint32_t));
    spec_gguf_writer_data(writer, &writer->n_tensors, sizeof writer->n_tensors);
    spec_gguf_writer_data(writer, &writer->n_values, sizeof writer->n_values);
    spec_gguf_writer_data(writer, values, values_bytes);
    spec_gguf_writer_data(writer, tensors, tensors_bytes);
    /* from here on this is the offset of the end */
    writer->offset += writer->written + padding(writer->written);
    SPEC_TRY(spec_gguf_writer_tensor_end(writer, error));
done:
    free(values);
    free(tensors);
    return status;
}

void spec_gguf_writer_data(spec_gguf_writer *writer, const void *data, size_t bytes)
{
    if (fwrite(data, 1, bytes, writer->file.out) != bytes && writer->failure == 0)
        writer->failure = errno;
    writer->written += bytes;
}

int spec_gguf_writer_tensor_end(spec_gguf_writer *writer, spec_error *error)
{
    static const char zeros[SPEC_GGUF_ALIGNMENT];
    spec_gguf_writer_data(writer, zeros, padding(writer->written));
    if (writer->failure == 0) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "%.300s: %s", writer->file.path,
                     strerror(writer->failure));
}

int spec_gguf_writer_close(spec_gguf_writer *writer, spec_error *error)
{
    assert(writer->written == writer->offset);
    return spec_new_file_close(&writer->file, error);
}
