/* SPDX-License-Identifier: GPL-3.0-or-later */
/* import_delta: converts the recurrent layers of a Hugging Face folder to GGUF's layout.
 * qwen3_next mixes the rows of queries, keys, values and gates of each key head in one tensor;
 * qwen3_5 does not, but GGUF files have value heads in another order: one of each key head in turn.
 * Matrices are converted row by row when they are written, as experts are. */
#ifndef SPECLAB_IMPORT_DELTA_H
#define SPECLAB_IMPORT_DELTA_H

#include "models/import/tensor_folder.h"
#include "models/transformer/files/architecture.h"

typedef struct {
    spec_shape shape;
    bool is_mixed;         /* in_proj_qkvz and in_proj_ba */
    spec_tensor *source;   /* (n_layers, SPEC_PARTS), as in the folder */
    float *vectors;        /* converted: rates, biases, convolutions */
    unsigned char *buffer; /* a row of the output matrix */
} spec_import_delta;

/* Finds and checks the tensors of the recurrent layers, whose names begin with, for example,
 * "model.layers." and a number, and sets them in the checkpoint, whose layers say which are
 * recurrent: vectors with their values, matrices with type and shape, and rows in the folder's
 * order. May return GSL_EINVAL, with a line that names the tensor. */
int spec_import_delta_init(spec_import_delta *delta, spec_checkpoint *to,
                           spec_tensor_folder *folder, const char *layers, spec_error *error);
void spec_import_delta_free(spec_import_delta *delta); /* may be zeroed */

/* Returns a row of a matrix, valid until the next call. `delta` points to a spec_import_delta. */
const void *spec_import_delta_row(void *delta, spec_part part, int layer, int row);

#endif
