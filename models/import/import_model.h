/* SPDX-License-Identifier: GPL-3.0-or-later */
/* import_model: a model of a Hugging Face folder, as a checkpoint and as a GGUF file.
 * config.json gives the shape, safetensors the weights, which stay in the mapped files and keep
 * their type (F32, F16, BF16, MXFP4), tokenizer.json the vocabulary. An open import owns all of it.
 */
#ifndef SPECLAB_IMPORT_MODEL_H
#define SPECLAB_IMPORT_MODEL_H

#include "models/import/folder_vocabulary.h"
#include "models/import/import_experts.h"
#include "models/import/model_config.h"
#include "models/import/tensor_folder.h"
#include "models/transformer/files/gguf_model.h"

typedef struct {
    spec_checkpoint checkpoint;
    spec_tensor_folder folder;
    spec_model_config config;
    spec_folder_vocabulary vocabulary;
    spec_import_experts experts; /* the checkpoint's are written from here */
    float *gain;                 /* norms that the folder stores less 1, or NULL */
    char *chat_template;         /* or NULL */
    size_t n_passed_over;        /* tensors of the parts of a folder that are not its text model */
} spec_import_model;

/* Read a folder. GSL_EINVAL with one line if model_config.h or folder_vocabulary.h refuse it. Also
 * if a tensor is missing, has another shape or type, or is not one of such a model. Weights are not
 * checked to be finite: reading the written file does that. On failure *ret is zeroed. `path` must
 * live as long as the import. */
int spec_import_model_open(spec_import_model *ret, const char *path, spec_error *error);
void spec_import_model_free(spec_import_model *model); /* may be zeroed */

/* Write it as GGUF; see spec_gguf_model_write. */
int spec_import_model_write(int *ret_kept, const spec_import_model *model, const char *path,
                            const spec_gguf_model_watch *opt_watch, spec_error *error);

#endif
