/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_types: the records of a GGUF container: its named values and named tensors.
 * gguf.c fills them and gguf_value.c reads the values. Everything points into the mapped file. */
#ifndef SPECLAB_GGUF_TYPES_H
#define SPECLAB_GGUF_TYPES_H

#include "base/mapping.h"
#include "models/transformer/files/tensor.h"
#include "models/transformer/tokenizer/piece.h"

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

/* A value, or the items of an array. A string is a uint64 length, then bytes. */
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
    bool integers;   /* the type is I64, so these are not weights, and tensor.type is
                        SPEC_TENSOR_TYPES */
    uint64_t offset; /* from the start of the file's data */
} spec_gguf_tensor;

typedef struct {
    const char *path; /* the caller's string, for error lines */
    spec_mapping mapping;
    spec_gguf_value *value; /* (n_values) ascending by key */
    size_t n_values;
    spec_gguf_tensor *tensor; /* (n_tensors) ascending by name */
    size_t n_tensors;
} spec_gguf;

/* The arguments with which "%.*s" prints a string of the file, cut at 80 bytes. */
#define SPEC_GGUF_SHOWN(piece) ((int)((piece).length < 80 ? (piece).length : 80)), (piece).bytes

#endif
