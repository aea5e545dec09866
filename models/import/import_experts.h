/* SPDX-License-Identifier: GPL-3.0-or-later */
/* import_experts: converts the experts of a Hugging Face folder to GGUF's layout, one at a time.
 * A folder has one tensor per expert (qwen3moe) or one for all of them. In gpt-oss they are
 * transposed or in MXFP4, and the rows of gate and up alternate. A model may be larger than memory,
 * so each expert is converted only when it is written. */
#ifndef SPECLAB_IMPORT_EXPERTS_H
#define SPECLAB_IMPORT_EXPERTS_H

#include "models/import/tensor_folder.h"
#include "models/transformer/files/checkpoint_parts.h"

/* How the matrices of a layer are stored: E experts of width F in a model of width D. */
typedef enum {
    SPEC_IMPORT_EXPERTS_SEPARATE, /* experts.7.gate_proj.weight (F, D), up_proj, down_proj (D, F) */
    SPEC_IMPORT_EXPERTS_STACKED,  /* gate_up_proj (E, 2F, D): all of gate, then up; down_proj
                                     (E, D, F) */
    SPEC_IMPORT_EXPERTS_TRANSPOSED, /* gate_up_proj (E, D, 2F), gate and up alternating; down_proj
                                       (E, F, D) */
    SPEC_IMPORT_EXPERTS_MXFP4       /* gate_up_proj_blocks (E, 2F, D/32, 16) and _scales
                                       (E, 2F, D/32), gate and up alternating; down_proj_ with (E,
                                       D) rows */
} spec_import_experts_layout;

typedef struct {
    spec_import_experts_layout layout;
    spec_shape shape;
    const spec_safetensors_tensor **tensor; /* (n_layers, n_names) */
    int n_names;                            /* tensors per layer */
    unsigned char *buffer;                  /* a converted expert */
} spec_import_experts;

/* Finds and checks the experts of every layer, whose names begin with, for example, "model.layers."
 * and a number, and sets their tensors in the checkpoint: type and shape, but only the first
 * expert's data. A gate_up_proj is read as TRANSPOSED if `transposes` is set, else as STACKED. May
 * return GSL_EINVAL, with a line that names the tensor. */
int spec_import_experts_init(spec_import_experts *experts, spec_checkpoint *to,
                             spec_tensor_folder *folder, const char *layers, bool transposes,
                             spec_error *error);
void spec_import_experts_free(spec_import_experts *experts); /* may be zeroed */

/* Returns the rows of one expert of a part: a matrix in its type, or biases as F32; valid until the
 * next call. `experts` points to a spec_import_experts. */
const void *spec_import_experts_rows(void *experts, spec_part part, int layer, int expert);

#endif
