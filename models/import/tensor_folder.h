/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tensor_folder: finds the tensors of a Hugging Face folder, in one safetensors file or in shards.
 * model.safetensors.index.json names the shards. Tensors point into the mapped files, which the
 * folder owns. A tensor is marked as taken when it is found, so that the ones left over can be
 * reported. */
#ifndef SPECLAB_TENSOR_FOLDER_H
#define SPECLAB_TENSOR_FOLDER_H

#include "models/import/safetensors.h"
#include "models/transformer/files/tensor.h"

#include <stdbool.h>

typedef struct {
    const char *path; /* the caller's string, for error lines */
    char **file_path; /* (n_files) */
    spec_safetensors *file;
    size_t n_files;
    const spec_safetensors_tensor **tensor; /* (n_tensors) ascending by name */
    bool *taken;
    size_t n_tensors;
} spec_tensor_folder;

/* Reads the headers of a folder's weights: its index, its model.safetensors, or its only
 * *.safetensors. Returns GSL_EINVAL, with one line, for an invalid file, a tensor that is in two
 * files or not where the index says, or a folder without such files; if it has pickled weights
 * (.bin, .pt, .pth), the line says how to convert them. Returns GSL_EFAILED if a file cannot be
 * opened. */
int spec_tensor_folder_init(spec_tensor_folder *folder, const char *path, spec_error *error);
void spec_tensor_folder_free(spec_tensor_folder *folder); /* may be zeroed */

/* Return NULL if there is none. _find takes the tensor, _look does not. */
const spec_safetensors_tensor *spec_tensor_folder_find(spec_tensor_folder *folder,
                                                       const char *name);
const spec_safetensors_tensor *spec_tensor_folder_look(const spec_tensor_folder *folder,
                                                       const char *name);

/* Finds the weights with this name and shape in F32, F16 or BF16; one row is a vector, and the
 * weights of a convolution may be (rows, 1, cols). Returns GSL_EINVAL, with a line that names
 * folder and tensor, if the folder lacks them. */
int spec_tensor_folder_weights(spec_tensor *ret, spec_tensor_folder *folder, const char *name,
                               int rows, int cols, spec_error *error);

/* Marks all tensors whose names begin with this as taken; returns how many there are. */
size_t spec_tensor_folder_pass(spec_tensor_folder *folder, const char *beginning);

/* Returns the name of the first tensor that was not taken, or NULL. */
const char *spec_tensor_folder_left(const spec_tensor_folder *folder);

/* Writes "FOLDER/NAME" into `ret_path`. Returns GSL_EINVAL if it is too long. */
enum { SPEC_TENSOR_FOLDER_PATH = 4096 };
int spec_tensor_folder_file(char ret_path[SPEC_TENSOR_FOLDER_PATH], const char *folder,
                            const char *name, spec_error *error);

#endif
