/* SPDX-License-Identifier: GPL-3.0-or-later */
/* import_model: reads a model from a Hugging Face folder and writes it as a GGUF file.
 * config.json gives the shape, safetensors the weights, which stay in the mapped files and keep
 * their type (F32, F16, BF16, MXFP4), tokenizer.json the vocabulary. The import owns all of it. */
#ifndef SPECLAB_IMPORT_MODEL_H
#define SPECLAB_IMPORT_MODEL_H

#include "models/import/folder_vocabulary.h"
#include "models/import/import_delta.h"
#include "models/import/import_experts.h"
#include "models/import/model_config.h"
#include "models/import/tensor_folder.h"
#include "models/transformer/files/gguf_model.h"

typedef struct {
    spec_checkpoint checkpoint;
    spec_tensor_folder folder;
    spec_model_config config;
    spec_folder_vocabulary vocabulary;
    spec_import_delta delta;     /* the matrices of recurrent layers are written from these */
    spec_import_experts experts; /* from these the checkpoint's experts are written */
    spec_import_experts draft_experts; /* the same for its draft block */
    float *gain, *draft_gain;          /* norms that the folder stores minus 1, or NULL */
    char *chat_template;         /* or NULL */
    size_t n_passed_over;        /* tensors that do not belong to the folder's text model */
} spec_import_model;

/* Reads a folder. Returns GSL_EINVAL, with one line, if model_config.h or folder_vocabulary.h
 * refuse it, or if a tensor is missing, unknown, or of another shape or type. Does not check that
 * weights are finite: reading the written file does. On failure *ret is zeroed. `path` must outlive
 * the import. */
int spec_import_model_open(spec_import_model *ret, const char *path, spec_error *error);
void spec_import_model_free(spec_import_model *model); /* may be zeroed */

/* Writes the model as GGUF; see spec_gguf_model_write. */
int spec_import_model_write(int *ret_kept, const spec_import_model *model, const char *path,
                            const spec_gguf_model_watch *opt_watch, spec_error *error);

#endif
