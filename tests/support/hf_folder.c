/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/hf_folder.h"

#include "tests/support/support.h"

#include <string.h>

static void *grown(void *memory, size_t bytes)
{
    void *larger = realloc(memory, bytes);
    assert_non_null(larger);
    return larger;
}

void spec_hf_folder_put(spec_hf_file *file, const char *name, const char *dtype, int n_dimensions,
                        const int *dimension, const void *data, size_t bytes)
{
    char entry[512];
    size_t n = (size_t)snprintf(entry, sizeof entry, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[",
                                file->header_bytes == 0 ? "{" : ",", name, dtype);
    for (int i = 0; i < n_dimensions; i++)
        n += (size_t)snprintf(entry + n, sizeof entry - n, "%s%d", i > 0 ? "," : "", dimension[i]);
    n += (size_t)snprintf(entry + n, sizeof entry - n, "],\"data_offsets\":[%zu,%zu]}",
                          file->data_bytes, file->data_bytes + bytes);
    file->header = grown(file->header, file->header_bytes + n + 2);
    memcpy(file->header + file->header_bytes, entry, n);
    file->header_bytes += n;
    file->data = grown(file->data, file->data_bytes + bytes + 1);
    if (data != NULL)
        memcpy(file->data + file->data_bytes, data, bytes);
    else
        memset(file->data + file->data_bytes, 0, bytes);
    file->data_bytes += bytes;
}

static const char *dtype_of(spec_tensor_type type)
{
    return type == SPEC_TENSOR_F32 ? "F32" : type == SPEC_TENSOR_F16 ? "F16" : "BF16";
}

void spec_hf_folder_put_weights(spec_hf_file *file, const char *name, const spec_tensor *tensor)
{
    const int size[] = {tensor->rows, tensor->cols};
    const bool is_vector = tensor->rows == 1;
    assert_true(tensor->type <= SPEC_TENSOR_BF16);
    spec_hf_folder_put(file, name, dtype_of(tensor->type), is_vector ? 1 : 2,
                       is_vector ? size + 1 : size, tensor->data,
                       (size_t)tensor->rows * spec_tensor_row_bytes(tensor->type, tensor->cols));
}

void spec_hf_folder_put_halves(spec_hf_file *file, const char *name, const spec_tensor *tensor,
                               int head_dim)
{
    const size_t bytes = spec_tensor_row_bytes(tensor->type, tensor->cols);
    FREED unsigned char *data = grown(NULL, (size_t)tensor->rows * bytes);
    for (int row = 0; row < tensor->rows; row++) {
        /* Moves dimensions 2i and 2i + 1 of a head to i and i + head_dim/2. */
        const int head = row / head_dim, at = row % head_dim;
        const int to = head * head_dim + at / 2 + (at % 2 == 1 ? head_dim / 2 : 0);
        memcpy(data + (size_t)to * bytes, (const unsigned char *)tensor->data + (size_t)row * bytes,
               bytes);
    }
    spec_tensor halves = *tensor;
    halves.data = data;
    spec_hf_folder_put_weights(file, name, &halves);
}

static void write_file(const char *path, const char *header, size_t header_bytes,
                       const unsigned char *data, size_t data_bytes)
{
    FILE *out = fopen(path, "wb");
    const uint64_t length = header_bytes;
    assert_non_null(out);
    fwrite(&length, sizeof length, 1, out);
    fwrite(header, 1, header_bytes, out);
    fwrite(data, 1, data_bytes, out);
    assert_int_equal(fclose(out), 0);
}

void spec_hf_folder_write(spec_hf_file *file, const char *path)
{
    if (file->header_bytes == 0) file->header = grown(file->header, 3);
    if (file->header_bytes == 0) file->header[file->header_bytes++] = '{';
    file->header[file->header_bytes++] = '}';
    write_file(path, file->header, file->header_bytes, file->data, file->data_bytes);
    free(file->header);
    free(file->data);
    *file = (spec_hf_file){0};
}

static char *with_quotes(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    return copy;
}

void spec_hf_folder_write_header(const char *path, const char *header, size_t data_bytes)
{
    FREED char *text = with_quotes(header);
    FREED unsigned char *data = calloc(1, data_bytes + 1);
    assert_non_null(data);
    write_file(path, text, strlen(text), data, data_bytes);
}

void spec_hf_folder_text(const char *path, const char *text)
{
    FREED char *copy = with_quotes(text);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    fwrite(copy, 1, strlen(copy), out);
    assert_int_equal(fclose(out), 0);
}
