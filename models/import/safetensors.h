/* SPDX-License-Identifier: GPL-3.0-or-later */
/* safetensors: the container format of Hugging Face's weights: named tensors in a mapped file.
 * The file is a 64-bit length, a JSON header, and the tensors' data, little endian. All pointers
 * are into the file, at any alignment, and have been checked. The container owns the mapping. */
#ifndef SPECLAB_SAFETENSORS_H
#define SPECLAB_SAFETENSORS_H

#include "base/mapping.h"

#include <jansson.h>
#include <stdint.h>

enum { SPEC_SAFETENSORS_DIMENSIONS_MAX = 4 };

typedef struct {
    const char *name;
    const char *type;                               /* as in the file: "F32", "BF16", "I64", ... */
    int n_dimensions;                               /* 0: one value */
    int dimension[SPEC_SAFETENSORS_DIMENSIONS_MAX]; /* each >= 1; 1 from n_dimensions on */
    const unsigned char *data;
    uint64_t offset, bytes; /* of the data, from the end of the header */
} spec_safetensors_tensor;

typedef struct {
    const char *path; /* the caller's string, for error lines */
    spec_mapping mapping;
    json_t *header;
    spec_safetensors_tensor *tensor; /* (n_tensors) ascending by name */
    size_t n_tensors;
} spec_safetensors;

/* Maps and checks a file. Returns GSL_EINVAL, with one line, if the file is truncated or of another
 * format; if the header is longer than the file or 100 MB, or not valid JSON; if a tensor has an
 * unknown type or a size that contradicts its shape, lies beyond the file, or overlaps another; if
 * some bytes belong to no tensor, or a name occurs twice. `path` must outlive the container. */
int spec_safetensors_init(spec_safetensors *file, const char *path, spec_error *error);
void spec_safetensors_free(spec_safetensors *file); /* may be zeroed */

/* Returns NULL if there is none. */
const spec_safetensors_tensor *spec_safetensors_find(const spec_safetensors *file,
                                                     const char *name);

#endif
