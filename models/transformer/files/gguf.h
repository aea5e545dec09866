/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf: the container format of llama.cpp's models: named values and named tensors.
 * Tensors are of the types of tensor.h. Versions 2 and 3, little endian. Everything points into the
 * mapped file, at any alignment. All of it was checked: inside the file, without overlapping
 * tensors or duplicate names. The container owns the mapping. */
#ifndef SPECLAB_GGUF_H
#define SPECLAB_GGUF_H

#include "models/transformer/files/gguf_types.h"

/* Map and check a file; time O(n log n) in its length. GSL_EINVAL with one line for a file of
 * another format or version, truncated, or longer than its tensors. Also for unknown types, nested
 * arrays, and more than SPEC_GGUF_COUNT_MAX values or tensors. Also for empty or duplicate names,
 * and tensors that overlap, are misaligned or exceed the file. `path` must live as long as the
 * container. */
int spec_gguf_init(spec_gguf *gguf, const char *path, spec_error *error);
void spec_gguf_free(spec_gguf *gguf);

/* NULL if there is none. Values: spec_gguf_value_find (gguf_value.h). */
const spec_gguf_tensor *spec_gguf_find_tensor(const spec_gguf *gguf, const char *name);

/* The weights of this name and shape, which the file must have; a vector is one row of F32.
 * GSL_EINVAL with a line that names file and tensor. */
int spec_gguf_need_weights(const spec_gguf_tensor **ret_tensor, const spec_gguf *gguf,
                           const char *name, int rows, int cols, bool is_vector, spec_error *error);

/* The format's number of a type for integers, I64. */
#define SPEC_GGUF_INTEGERS 27u

/* The format's number of a tensor type, and back: SPEC_TENSOR_TYPES if unsupported. */
uint32_t spec_gguf_tensor_number(spec_tensor_type type);
spec_tensor_type spec_gguf_tensor_type(uint32_t number);

#endif
