/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/safetensors.h"

#include "models/import/json_values.h"
#include "speclab/no_memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned char bytes;
} types[] = {
    {"F32", 4},  {"F16", 2},     {"BF16", 2},    {"I64", 8}, {"I32", 4},
    {"BOOL", 1}, {"U8", 1},      {"I8", 1},      {"I16", 2}, {"U16", 2},
    {"U32", 4},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F64", 8}, {"U64", 8},
};
enum { TYPES = sizeof types / sizeof types[0] };

enum { HEADER_MAX = 100000000 }; /* the format's limit */

#define REFUSE(file, error, format, ...)                                                           \
    spec_fail(error, GSL_EINVAL, "%.300s: " format, (file)->path, __VA_ARGS__)

/* ---- one tensor ------------------------------------------------------------------------------ */

static int read_type(spec_safetensors_tensor *tensor, uint64_t *ret_bytes,
                     const spec_safetensors *file, const json_t *entry, spec_error *error)
{
    tensor->type = json_string_value(json_object_get(entry, "dtype"));
    if (tensor->type == NULL)
        return REFUSE(file, error, "tensor '%.80s' has no dtype", tensor->name);
    for (int i = 0; i < TYPES; i++) {
        if (strcmp(types[i].name, tensor->type) != 0) continue;
        *ret_bytes = types[i].bytes;
        return GSL_SUCCESS;
    }
    return REFUSE(file, error, "tensor '%.80s' is of dtype '%.20s', which is not known",
                  tensor->name, tensor->type);
}

/* Reads the dimensions; *bytes is the size of one value on entry, and that of all values on
 * return. */
static int read_shape(spec_safetensors_tensor *tensor, uint64_t *bytes,
                      const spec_safetensors *file, const json_t *entry, spec_error *error)
{
    const json_t *shape = json_object_get(entry, "shape");
    const size_t n = json_array_size(shape);
    if (!json_is_array(shape) || n > SPEC_SAFETENSORS_DIMENSIONS_MAX)
        return REFUSE(file, error, "tensor '%.80s' has no shape of 0 to %d dimensions",
                      tensor->name, SPEC_SAFETENSORS_DIMENSIONS_MAX);
    tensor->n_dimensions = (int)n;
    for (size_t i = 0; i < SPEC_SAFETENSORS_DIMENSIONS_MAX; i++) tensor->dimension[i] = 1;
    for (size_t i = 0; i < n; i++) {
        const json_t *size = json_array_get(shape, i);
        const json_int_t value = json_integer_value(size);
        if (!json_is_integer(size) || value < 1 || value > INT_MAX)
            return REFUSE(file, error,
                          "dimension %zu of tensor '%.80s' is not a whole number between 1 and %d",
                          i, tensor->name, INT_MAX);
        if (*bytes > UINT64_MAX / (uint64_t)value)
            return REFUSE(file, error, "the shape of tensor '%.80s' has more than 2^64 bytes",
                          tensor->name);
        *bytes *= (uint64_t)value;
        tensor->dimension[i] = (int)value;
    }
    return GSL_SUCCESS;
}

static int read_place(spec_safetensors_tensor *tensor, uint64_t bytes, uint64_t length,
                      const spec_safetensors *file, const json_t *entry, spec_error *error)
{
    const json_t *place = json_object_get(entry, "data_offsets");
    const json_t *first = json_array_get(place, 0), *second = json_array_get(place, 1);
    const json_int_t begin = json_integer_value(first), end = json_integer_value(second);
    if (json_array_size(place) != 2 || !json_is_integer(first) || !json_is_integer(second) ||
        begin < 0 || end < begin)
        return REFUSE(file, error, "the data_offsets of tensor '%.80s' are not a begin and an end",
                      tensor->name);
    tensor->offset = (uint64_t)begin;
    tensor->bytes = (uint64_t)(end - begin);
    if (tensor->bytes != bytes)
        return REFUSE(file, error,
                      "tensor '%.80s' has %" PRIu64 " bytes where its shape asks for %" PRIu64,
                      tensor->name, tensor->bytes, bytes);
    if ((uint64_t)end > length)
        return REFUSE(file, error, "is cut short: tensor '%.80s' ends beyond its %zu bytes",
                      tensor->name, file->mapping.length);
    return GSL_SUCCESS;
}

static int read_tensor(spec_safetensors_tensor *tensor, uint64_t length,
                       const spec_safetensors *file, const json_t *entry, spec_error *error)
{
    int status = GSL_SUCCESS;
    uint64_t bytes = 0;
    SPEC_TRY(read_type(tensor, &bytes, file, entry, error));
    SPEC_TRY(read_shape(tensor, &bytes, file, entry, error));
    SPEC_TRY(read_place(tensor, bytes, length, file, entry, error));
    tensor->data = file->mapping.bytes + (file->mapping.length - length) + tensor->offset;
done:
    return status;
}

/* ---- the whole file -------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const spec_safetensors_tensor *)a)->name,
                  ((const spec_safetensors_tensor *)b)->name);
}

static int by_offset(const void *a, const void *b)
{
    const uint64_t x = ((const spec_safetensors_tensor *)a)->offset,
                   y = ((const spec_safetensors_tensor *)b)->offset;
    return (x > y) - (x < y);
}

/* Checks that the tensors fill the data without gaps. */
static int check_places(spec_safetensors *file, uint64_t length, spec_error *error)
{
    uint64_t end = 0;
    qsort(file->tensor, file->n_tensors, sizeof *file->tensor, by_offset);
    for (size_t i = 0; i < file->n_tensors; i++) {
        const spec_safetensors_tensor *tensor = &file->tensor[i];
        if (tensor->offset < end)
            return REFUSE(file, error, "tensors '%.80s' and '%.80s' overlap", tensor[-1].name,
                          tensor->name);
        if (tensor->offset > end)
            return REFUSE(file, error,
                          "%" PRIu64 " bytes before tensor '%.80s' belong to no tensor",
                          tensor->offset - end, tensor->name);
        end += tensor->bytes;
    }
    if (end < length)
        return REFUSE(file, error, "%" PRIu64 " bytes follow its last tensor", length - end);
    return GSL_SUCCESS;
}

static int read_header(spec_safetensors *file, uint64_t *ret_length, spec_error *error)
{
    uint64_t bytes;
    const size_t length = file->mapping.length;
    if (length < sizeof bytes + 2)
        return REFUSE(file, error, "is cut short: it has %zu bytes", length);
    memcpy(&bytes, file->mapping.bytes, sizeof bytes);
    if (bytes > length - sizeof bytes)
        return REFUSE(file, error,
                      "is cut short, or not a safetensors file: its header of %" PRIu64
                      " bytes ends beyond its %zu bytes",
                      bytes, length);
    if (bytes > HEADER_MAX)
        return REFUSE(file, error, "its header has %" PRIu64 " bytes, and may have %d", bytes,
                      HEADER_MAX);
    *ret_length = length - sizeof bytes - bytes;
    return spec_json_values_parse(&file->header, (const char *)file->mapping.bytes + sizeof bytes,
                                  (size_t)bytes, file->path, error);
}

int spec_safetensors_init(spec_safetensors *file, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    const char *name;
    json_t *entry;
    uint64_t length = 0;
    *file = (spec_safetensors){.path = path};
    SPEC_TRY(spec_mapping_init(&file->mapping, path, error));
    SPEC_TRY(read_header(file, &length, error));
    file->tensor = malloc((json_object_size(file->header) + 1) * sizeof *file->tensor);
    if (file->tensor == NULL) SPEC_TRY(spec_no_memory_for(error, path));
    json_object_foreach(file->header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        spec_safetensors_tensor *tensor = &file->tensor[file->n_tensors++];
        *tensor = (spec_safetensors_tensor){.name = name};
        SPEC_TRY(read_tensor(tensor, length, file, entry, error));
    }
    SPEC_TRY(check_places(file, length, error));
    qsort(file->tensor, file->n_tensors, sizeof *file->tensor, by_name);
done:
    if (status != GSL_SUCCESS) spec_safetensors_free(file);
    return status;
}

void spec_safetensors_free(spec_safetensors *file)
{
    free(file->tensor);
    json_decref(file->header);
    spec_mapping_free(&file->mapping);
    *file = (spec_safetensors){0};
}

const spec_safetensors_tensor *spec_safetensors_find(const spec_safetensors *file, const char *name)
{
    const spec_safetensors_tensor wanted = {.name = name};
    return bsearch(&wanted, file->tensor, file->n_tensors, sizeof wanted, by_name);
}
