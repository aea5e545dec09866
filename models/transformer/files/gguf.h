/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf: the container format of llama.cpp's models: named values and named tensors.
 * Tensors have the types of tensor.h. It reads versions 2 and 3, little endian. All pointers are
 * into the mapped file, at any alignment. They have been checked to lie inside the file, and no
 * tensors overlap or have the same name. The container owns the mapping. */
#ifndef SPECLAB_GGUF_H
#define SPECLAB_GGUF_H

#include "models/transformer/files/gguf_types.h"

/* Maps and checks a file; takes time O(n log n) in its length. Returns GSL_EINVAL, with one line,
 * for a file that has another format or version, is truncated, or is longer than its tensors; for
 * unknown types, nested arrays, and more than SPEC_GGUF_COUNT_MAX values or tensors; and for empty
 * or duplicate names, and tensors that overlap, are misaligned or exceed the file. `path` must
 * outlive the container. */
int spec_gguf_init(spec_gguf *gguf, const char *path, spec_error *error);
void spec_gguf_free(spec_gguf *gguf);

/* Returns NULL if there is none. For values see spec_gguf_value_find (gguf_value.h). */
const spec_gguf_tensor *spec_gguf_find_tensor(const spec_gguf *gguf, const char *name);

/* Finds the weights with this name and shape; a vector is one row of F32. Returns GSL_EINVAL, with
 * a line that names file and tensor, if the file lacks them. */
int spec_gguf_need_weights(const spec_gguf_tensor **ret_tensor, const spec_gguf *gguf,
                           const char *name, int rows, int cols, bool is_vector, spec_error *error);

/* The format's number for the integer type I64. */
#define SPEC_GGUF_INTEGERS 27u

/* Convert a tensor type to the format's number and back: SPEC_TENSOR_TYPES if unsupported. */
uint32_t spec_gguf_tensor_number(spec_tensor_type type);
spec_tensor_type spec_gguf_tensor_type(uint32_t number);

#endif
