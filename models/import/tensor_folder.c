/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/tensor_folder.h"

#include "base/escape.h"
#include "models/import/json_values.h"
#include "speclab/no_memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char index_name[] = "model.safetensors.index.json", ending[] = ".safetensors";

#define REFUSE(folder, error, format, ...)                                                         \
    spec_fail(error, GSL_EINVAL, "%.120s: " format, (folder)->path, __VA_ARGS__)

int spec_tensor_folder_file(char ret_path[SPEC_TENSOR_FOLDER_PATH], const char *folder,
                            const char *name, spec_error *error)
{
    const int n = snprintf(ret_path, SPEC_TENSOR_FOLDER_PATH, "%s/%s", folder, name);
    return n < SPEC_TENSOR_FOLDER_PATH
               ? GSL_SUCCESS
               : spec_fail(error, GSL_EINVAL, "%.300s: its name is too long", folder);
}

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0;
}

/* ---- which files ----------------------------------------------------------------------------- */

/* Opens a file of the folder, unless it is open. */
static int add_file(spec_tensor_folder *folder, const char *name, spec_error *error)
{
    int status = GSL_SUCCESS;
    char path[SPEC_TENSOR_FOLDER_PATH];
    SPEC_TRY(spec_tensor_folder_file(path, folder->path, name, error));
    for (size_t i = 0; i < folder->n_files; i++)
        if (strcmp(folder->file_path[i], path) == 0) return GSL_SUCCESS;
    char **paths = realloc(folder->file_path, (folder->n_files + 1) * sizeof *paths);
    if (paths != NULL) folder->file_path = paths;
    spec_safetensors *files = realloc(folder->file, (folder->n_files + 1) * sizeof *files);
    if (files != NULL) folder->file = files;
    char *copy = strdup(path);
    if (paths == NULL || files == NULL || copy == NULL) {
        free(copy);
        return spec_no_memory_for(error, folder->path);
    }
    folder->file_path[folder->n_files] = copy;
    folder->file[folder->n_files++] = (spec_safetensors){0};
    SPEC_TRY(spec_safetensors_init(&folder->file[folder->n_files - 1], copy, error));
done:
    return status;
}

/* Opens the shards of the index; each tensor must be in the shard that it names. */
static int add_shards(spec_tensor_folder *folder, const json_t *map, const char *path,
                      spec_error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        const char *shard = json_string_value(value);
        char shard_path[SPEC_TENSOR_FOLDER_PATH];
        size_t i = 0;
        if (shard == NULL || strchr(shard, '/') != NULL || !ends_with(shard, ending))
            return spec_fail(error, GSL_EINVAL,
                             "%.300s: tensor '%.80s' is in no file of this folder that ends with "
                             "%s",
                             path, name, ending);
        int status = add_file(folder, shard, error);
        if (status == GSL_SUCCESS)
            status = spec_tensor_folder_file(shard_path, folder->path, shard, error);
        if (status != GSL_SUCCESS) return status;
        while (strcmp(folder->file_path[i], shard_path) != 0) i++;
        if (spec_safetensors_find(&folder->file[i], name) == NULL)
            return spec_fail(error, GSL_EINVAL, "%.300s: tensor '%.80s' is not in %.80s", path,
                             name, shard);
    }
    return GSL_SUCCESS;
}

static int add_index(spec_tensor_folder *folder, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    json_t *root = NULL;
    spec_json_values map;
    SPEC_TRY(spec_json_values_load(&root, path, false, error));
    SPEC_TRY(spec_json_values_object(&map, &(spec_json_values){path, root, error}, "weight_map"));
    if (json_object_size(map.object) == 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: key 'weight_map' is missing", path));
    SPEC_TRY(add_shards(folder, map.object, path, error));
done:
    json_decref(root);
    return status;
}

static bool is_pickled(const char *name)
{
    return ends_with(name, ".bin") || ends_with(name, ".pt") || ends_with(name, ".pth");
}

/* Refuses pickled weights, with a command that converts them. The file name is an argument of that
 * program, so that it cannot be run as code. */
static int refuse_pickled(const spec_tensor_folder *folder, const char *name, spec_error *error)
{
    char word[80];
    return REFUSE(folder, error,
                  "%.60s is pickled, which is not supported: type python3 -c 'import sys, torch, "
                  "safetensors.torch as s; s.save_file({k: v.clone() for k, v in "
                  "torch.load(sys.argv[1], weights_only=True).items()}, \"model.safetensors\")' %s",
                  name, spec_escape_shell_fit(word, sizeof word, name, "FILE"));
}

/* Adds the only file that ends with .safetensors. */
static int add_only(spec_tensor_folder *folder, DIR *entries, spec_error *error)
{
    char only[256] = "", pickled[256] = "";
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (ends_with(entry->d_name, ending)) {
            n++;
            snprintf(only, sizeof only, "%s", entry->d_name);
        } else if (is_pickled(entry->d_name)) {
            snprintf(pickled, sizeof pickled, "%s", entry->d_name);
        }
    }
    if (n == 1) return add_file(folder, only, error);
    if (n > 1)
        return REFUSE(folder, error, "has %d files that end with %s, and no %s", n, ending,
                      index_name);
    if (pickled[0] != '\0') return refuse_pickled(folder, pickled, error);
    return REFUSE(folder, error, "has no file that ends with %s", ending);
}

static int add_files(spec_tensor_folder *folder, spec_error *error)
{
    int status = GSL_SUCCESS;
    char path[SPEC_TENSOR_FOLDER_PATH];
    DIR *entries = opendir(folder->path);
    if (entries == NULL)
        return spec_fail(error, errno == ENOMEM ? GSL_ENOMEM : GSL_EINVAL, "%.300s: %s",
                         folder->path, strerror(errno));
    SPEC_TRY(spec_tensor_folder_file(path, folder->path, index_name, error));
    if (access(path, F_OK) == 0) {
        SPEC_TRY(add_index(folder, path, error));
        goto done;
    }
    SPEC_TRY(spec_tensor_folder_file(path, folder->path, "model.safetensors", error));
    SPEC_TRY(access(path, F_OK) == 0 ? add_file(folder, "model.safetensors", error)
                                     : add_only(folder, entries, error));
done:
    closedir(entries);
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const spec_safetensors_tensor *const *)a)->name,
                  (*(const spec_safetensors_tensor *const *)b)->name);
}

int spec_tensor_folder_init(spec_tensor_folder *folder, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    size_t n = 0;
    *folder = (spec_tensor_folder){.path = path};
    SPEC_TRY(add_files(folder, error));
    for (size_t i = 0; i < folder->n_files; i++) n += folder->file[i].n_tensors;
    folder->tensor = malloc((n + 1) * sizeof *folder->tensor);
    folder->taken = calloc(n + 1, sizeof *folder->taken);
    if (folder->tensor == NULL || folder->taken == NULL) SPEC_TRY(spec_no_memory_for(error, path));
    for (size_t i = 0; i < folder->n_files; i++)
        for (size_t k = 0; k < folder->file[i].n_tensors; k++)
            folder->tensor[folder->n_tensors++] = &folder->file[i].tensor[k];
    qsort(folder->tensor, n, sizeof *folder->tensor, by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(folder->tensor[i - 1]->name, folder->tensor[i]->name) == 0)
            SPEC_TRY(
                REFUSE(folder, error, "tensor '%.80s' is in two files", folder->tensor[i]->name));
done:
    if (status != GSL_SUCCESS) spec_tensor_folder_free(folder);
    return status;
}

void spec_tensor_folder_free(spec_tensor_folder *folder)
{
    for (size_t i = 0; i < folder->n_files; i++) {
        spec_safetensors_free(&folder->file[i]);
        free(folder->file_path[i]);
    }
    free(folder->file);
    free(folder->file_path);
    free(folder->tensor);
    free(folder->taken);
    *folder = (spec_tensor_folder){0};
}

static const spec_safetensors_tensor **search(const spec_tensor_folder *folder, const char *name)
{
    const spec_safetensors_tensor wanted = {.name = name}, *key = &wanted;
    return bsearch(&key, folder->tensor, folder->n_tensors, sizeof *folder->tensor, by_name);
}

const spec_safetensors_tensor *spec_tensor_folder_find(spec_tensor_folder *folder, const char *name)
{
    const spec_safetensors_tensor **found = search(folder, name);
    if (found == NULL) return NULL;
    folder->taken[found - folder->tensor] = true;
    return *found;
}

const spec_safetensors_tensor *spec_tensor_folder_look(const spec_tensor_folder *folder,
                                                       const char *name)
{
    const spec_safetensors_tensor **found = search(folder, name);
    return found != NULL ? *found : NULL;
}

int spec_tensor_folder_weights(spec_tensor *ret, spec_tensor_folder *folder, const char *name,
                               int rows, int cols, spec_error *error)
{
    static const spec_tensor_type types[] = {SPEC_TENSOR_F32, SPEC_TENSOR_F16, SPEC_TENSOR_BF16};
    static const char *const names[] = {"F32", "F16", "BF16"};
    const spec_safetensors_tensor *found = spec_tensor_folder_find(folder, name);
    int type = 0;
    *ret = (spec_tensor){0};
    if (found == NULL) return REFUSE(folder, error, "tensor '%.80s' is missing", name);
    while (type < 3 && strcmp(names[type], found->type) != 0) type++;
    if (type == 3)
        return REFUSE(folder, error,
                      "tensor '%.80s' is of dtype %.20s; only F32, F16 and BF16 are supported",
                      name, found->type);
    const int *size = found->dimension;
    const bool is_vector = found->n_dimensions == 1;
    const bool is_convolution = found->n_dimensions == 3 && size[1] == 1;
    const int its_rows = is_vector ? 1 : size[0],
              its_cols = is_vector ? size[0] : size[is_convolution ? 2 : 1];
    if (found->n_dimensions < 1 || (found->n_dimensions > 2 && !is_convolution) ||
        its_rows != rows || its_cols != cols)
        return REFUSE(folder, error,
                      "tensor '%.80s' has %d dimensions, %d x %d, where the shape asks for %d x %d",
                      name, found->n_dimensions, its_rows, its_cols, rows, cols);
    *ret = (spec_tensor){types[type], rows, cols, found->data};
    return GSL_SUCCESS;
}

size_t spec_tensor_folder_pass(spec_tensor_folder *folder, const char *beginning)
{
    size_t n = 0;
    for (size_t i = 0; i < folder->n_tensors; i++) {
        if (strncmp(folder->tensor[i]->name, beginning, strlen(beginning)) != 0) continue;
        n += !folder->taken[i];
        folder->taken[i] = true;
    }
    return n;
}

const char *spec_tensor_folder_left(const spec_tensor_folder *folder)
{
    for (size_t i = 0; i < folder->n_tensors; i++)
        if (!folder->taken[i]) return folder->tensor[i]->name;
    return NULL;
}
