/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hf_folder: writes the files of a Hugging Face folder, for tests of their readers.
 * A safetensors file is put together tensor after tensor, in memory; writing it frees it. Failures
 * fail the test. */
#ifndef SPECLAB_TESTS_HF_FOLDER_H
#define SPECLAB_TESTS_HF_FOLDER_H

#include "models/transformer/files/tensor.h"

typedef struct {
    char *header; /* the entries so far */
    unsigned char *data;
    size_t header_bytes, data_bytes;
} spec_hf_file;

/* Add a tensor of 0 to 4 dimensions: with any bytes; or with weights, as a vector if there is one
 * row. `data` NULL: zeros. */
void spec_hf_folder_put(spec_hf_file *file, const char *name, const char *dtype, int n_dimensions,
                        const int *dimension, const void *data, size_t bytes);
void spec_hf_folder_put_weights(spec_hf_file *file, const char *name, const spec_tensor *tensor);

/* Does the same, but writes the rows of heads that rotate adjacent pairs in the order for
 * halves. */
void spec_hf_folder_put_halves(spec_hf_file *file, const char *name, const spec_tensor *tensor,
                               int head_dim);

void spec_hf_folder_write(spec_hf_file *file, const char *path);

/* Writes a file with this safetensors header, in which quotes are as below, and this many zeros. */
void spec_hf_folder_write_header(const char *path, const char *header, size_t data_bytes);

/* Writes a file of text; single quotes become double ones, so that JSON is readable in C. */
void spec_hf_folder_text(const char *path, const char *text);

#endif
