/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf: the container format of llama.cpp's models: named values and named tensors.
 * Tensors are of the types of tensor.h. Versions 2 and 3, little endian. Everything points into the
 * mapped file, at any alignment. All of it was checked: inside the file, without overlapping
 * tensors or duplicate names. The container owns the mapping. */
#ifndef SPECLAB_GGUF_H
#define SPECLAB_GGUF_H

#include "base/mapping.h"
#include "models/transformer/files/tensor.h"
#include "models/transformer/tokenizer/tokenizer.h"

enum { SPEC_GGUF_DIMENSIONS_MAX = 4, SPEC_GGUF_COUNT_MAX = 1 << 20, SPEC_GGUF_ALIGNMENT = 32 };

/* Types of values, numbered as in the format. */
typedef enum {
    SPEC_GGUF_U8,
    SPEC_GGUF_I8,
    SPEC_GGUF_U16,
    SPEC_GGUF_I16,
    SPEC_GGUF_U32,
    SPEC_GGUF_I32,
    SPEC_GGUF_F32,
    SPEC_GGUF_BOOL,
    SPEC_GGUF_STRING,
    SPEC_GGUF_ARRAY,
    SPEC_GGUF_U64,
    SPEC_GGUF_I64,
    SPEC_GGUF_F64,
    SPEC_GGUF_TYPES
} spec_gguf_type;

/* A value, or the items of an array. A string is a uint64 length and bytes. */
typedef struct {
    spec_piece key;
    bool is_array;
    spec_gguf_type type; /* of the items of an array; never SPEC_GGUF_ARRAY */
    uint64_t n;          /* number of items; 1 if not an array */
    const unsigned char *bytes;
    size_t length;
} spec_gguf_value;

typedef struct {
    spec_piece name;
    int n_dimensions;
    int dimension[SPEC_GGUF_DIMENSIONS_MAX]; /* the row's length first; 1 from n_dimensions on */
    spec_tensor tensor;                      /* rows: the product of all dimensions but the first */
    uint64_t offset;                         /* from the start of the file's data */
} spec_gguf_tensor;

typedef struct {
    const char *path; /* the caller's string, for error lines */
    spec_mapping mapping;
    spec_gguf_value *value; /* (n_values) ascending by key */
    size_t n_values;
    spec_gguf_tensor *tensor; /* (n_tensors) ascending by name */
    size_t n_tensors;
} spec_gguf;

/* Map and check a file; time O(n log n) in its length. GSL_EINVAL with one line for a file of
 * another format or version, truncated, or longer than its tensors. Also for unknown types, nested
 * arrays, and more than SPEC_GGUF_COUNT_MAX values or tensors. Also for empty or duplicate names,
 * and tensors that overlap, are misaligned or exceed the file. `path` must live as long as the
 * container. */
int spec_gguf_init(spec_gguf *gguf, const char *path, spec_error *error);
void spec_gguf_free(spec_gguf *gguf);

/* A string of the file for "%.*s", cut at 80 bytes. */
#define SPEC_GGUF_SHOWN(piece) ((int)((piece).length < 80 ? (piece).length : 80)), (piece).bytes

/* NULL if there is none. */
const spec_gguf_value *spec_gguf_find(const spec_gguf *gguf, const char *key);
const spec_gguf_tensor *spec_gguf_find_tensor(const spec_gguf *gguf, const char *name);

/* The format's number of a tensor type, and back: SPEC_TENSOR_TYPES if unsupported. */
uint32_t spec_gguf_tensor_number(spec_tensor_type type);
spec_tensor_type spec_gguf_tensor_type(uint32_t number);

#endif
