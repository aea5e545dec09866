/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf.h"

#include "models/transformer/files/gguf_value.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT_MAX = 1 << 20, LEAST_VALUE_BYTES = 14, LEAST_TENSOR_BYTES = 33 };

/* Names of ggml's tensor types, to report unsupported ones. */
static const char *const type_names[] = {
    "F32",   "F16",        "Q4_0",       "Q4_1",       "Q4_2",     "Q4_3",     "Q5_0",
    "Q5_1",  "Q8_0",       "Q8_1",       "Q2_K",       "Q3_K",     "Q4_K",     "Q5_K",
    "Q6_K",  "Q8_K",       "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",  "IQ1_S",    "IQ4_NL",
    "IQ3_S", "IQ2_S",      "IQ4_XS",     "I8",         "I16",      "I32",      "I64",
    "F64",   "IQ1_M",      "BF16",       "Q4_0_4_4",   "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",
    "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4",    "NVFP4",    "Q1_0",
    "Q2_0",
};
enum { N_TYPE_NAMES = sizeof type_names / sizeof type_names[0] };

static const uint32_t type_numbers[SPEC_TENSOR_ALL_TYPES] = {
    [SPEC_TENSOR_F32] = 0,     [SPEC_TENSOR_F16] = 1,   [SPEC_TENSOR_BF16] = 30,
    [SPEC_TENSOR_Q8_0] = 8,    [SPEC_TENSOR_Q4_0] = 2,  [SPEC_TENSOR_Q5_0] = 6,
    [SPEC_TENSOR_Q4_K] = 12,   [SPEC_TENSOR_Q5_K] = 13, [SPEC_TENSOR_Q6_K] = 14,
    [SPEC_TENSOR_IQ4_NL] = 20, [SPEC_TENSOR_Q4_1] = 3,  [SPEC_TENSOR_Q5_1] = 7,
    [SPEC_TENSOR_MXFP4] = 39,  [SPEC_TENSOR_Q2_K] = 10, [SPEC_TENSOR_Q3_K] = 11,
    [SPEC_TENSOR_IQ4_XS] = 23,
};

uint32_t spec_gguf_tensor_number(spec_tensor_type type)
{
    return type_numbers[type];
}

spec_tensor_type spec_gguf_tensor_type(uint32_t number)
{
    for (int type = 0; type < SPEC_TENSOR_ALL_TYPES; type++)
        if (type != SPEC_TENSOR_TYPES && type_numbers[type] == number)
            return (spec_tensor_type)type;
    return SPEC_TENSOR_TYPES;
}

/* ---- reading front to back ------------------------------------------------------------------- */

typedef struct {
    const char *path;
    const unsigned char *bytes;
    size_t length, at;
    spec_error *error;
} reader;

#define REFUSE(in, format, ...)                                                                    \
    spec_fail((in)->error, GSL_EINVAL, "%.300s: " format, (in)->path, __VA_ARGS__)

static int cut_short(const reader *in)
{
    return spec_fail(in->error, GSL_EINVAL, "%.300s: is cut short: it ends within its header",
                     in->path);
}

static int skip(reader *in, uint64_t n)
{
    if (n > in->length - in->at) return cut_short(in);
    in->at += (size_t)n;
    return GSL_SUCCESS;
}

static int read_u32(uint32_t *ret_value, reader *in)
{
    const unsigned char *from = in->bytes + in->at;
    const int status = skip(in, sizeof *ret_value);
    if (status == GSL_SUCCESS) memcpy(ret_value, from, sizeof *ret_value);
    return status;
}

static int read_u64(uint64_t *ret_value, reader *in)
{
    const unsigned char *from = in->bytes + in->at;
    const int status = skip(in, sizeof *ret_value);
    if (status == GSL_SUCCESS) memcpy(ret_value, from, sizeof *ret_value);
    return status;
}

static int read_string(spec_piece *ret_piece, reader *in)
{
    int status = GSL_SUCCESS;
    uint64_t length = 0;
    SPEC_TRY(read_u64(&length, in));
    *ret_piece = (spec_piece){(const char *)in->bytes + in->at, (size_t)length};
    SPEC_TRY(skip(in, length));
done:
    return status;
}

static int read_name(spec_piece *ret_piece, reader *in, const char *what, size_t i)
{
    const int status = read_string(ret_piece, in);
    if (status == GSL_SUCCESS && ret_piece->length == 0)
        return REFUSE(in, "%s %zu has no name", what, i);
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

static size_t type_bytes(uint32_t type)
{
    static const unsigned char bytes[SPEC_GGUF_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return bytes[type];
}

static int read_items(spec_gguf_value *value, reader *in)
{
    int status = GSL_SUCCESS;
    const size_t begin = in->at;
    value->bytes = in->bytes + begin;
    if (value->type == SPEC_GGUF_STRING) {
        spec_piece piece;
        for (uint64_t i = 0; i < value->n; i++)
            SPEC_TRY(read_string(&piece, in)); /* each takes at least 8 bytes */
    } else {
        const size_t bytes = type_bytes(value->type);
        if (value->n > in->length / bytes) SPEC_TRY(cut_short(in));
        SPEC_TRY(skip(in, value->n * bytes));
    }
    value->length = in->at - begin;
done:
    return status;
}

static int read_value(spec_gguf_value *value, reader *in, size_t i)
{
    int status = GSL_SUCCESS;
    uint32_t type = 0;
    *value = (spec_gguf_value){.n = 1};
    SPEC_TRY(read_name(&value->key, in, "value", i));
    SPEC_TRY(read_u32(&type, in));
    value->is_array = type == SPEC_GGUF_ARRAY;
    if (value->is_array) {
        SPEC_TRY(read_u32(&type, in));
        SPEC_TRY(read_u64(&value->n, in));
        if (type == SPEC_GGUF_ARRAY)
            return REFUSE(in, "the value of '%.*s' is an array of arrays",
                          SPEC_GGUF_SHOWN(value->key));
    }
    if (type >= SPEC_GGUF_TYPES)
        return REFUSE(in, "the value of '%.*s' is of type %u, which is not known",
                      SPEC_GGUF_SHOWN(value->key), type);
    value->type = (spec_gguf_type)type;
    SPEC_TRY(read_items(value, in));
done:
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static int read_dimensions(spec_gguf_tensor *tensor, reader *in)
{
    int status = GSL_SUCCESS;
    uint32_t n = 0;
    uint64_t size = 0, rows = 1;
    SPEC_TRY(read_u32(&n, in));
    if (n < 1 || n > SPEC_GGUF_DIMENSIONS_MAX)
        return REFUSE(in, "tensor '%.*s' has %u dimensions, not 1 to %d",
                      SPEC_GGUF_SHOWN(tensor->name), n, SPEC_GGUF_DIMENSIONS_MAX);
    tensor->n_dimensions = (int)n;
    for (int i = 0; i < SPEC_GGUF_DIMENSIONS_MAX; i++) tensor->dimension[i] = 1;
    for (int i = 0; i < tensor->n_dimensions; i++) {
        SPEC_TRY(read_u64(&size, in));
        if (i > 0) rows *= size <= INT_MAX ? size : INT_MAX;
        if (size < 1 || size > INT_MAX || rows > INT_MAX)
            return REFUSE(in, "dimension %d of tensor '%.*s' is %llu, which is not possible", i,
                          SPEC_GGUF_SHOWN(tensor->name), (unsigned long long)size);
        tensor->dimension[i] = (int)size;
    }
    tensor->tensor.cols = tensor->dimension[0];
    tensor->tensor.rows = (int)rows;
done:
    return status;
}

static int read_tensor(spec_gguf_tensor *tensor, reader *in, size_t i)
{
    int status = GSL_SUCCESS;
    uint32_t number = 0;
    *tensor = (spec_gguf_tensor){0};
    SPEC_TRY(read_name(&tensor->name, in, "tensor", i));
    SPEC_TRY(read_dimensions(tensor, in));
    SPEC_TRY(read_u32(&number, in));
    SPEC_TRY(read_u64(&tensor->offset, in));
    tensor->tensor.type = spec_gguf_tensor_type(number);
    tensor->integers = number == SPEC_GGUF_INTEGERS;
    if (tensor->integers) return GSL_SUCCESS;
    if (tensor->tensor.type == SPEC_TENSOR_TYPES) {
        char unnamed[16];
        snprintf(unnamed, sizeof unnamed, "%u", number);
        return REFUSE(in,
                      "tensor '%.*s' is of type %s; F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, "
                      "Q5_1, IQ4_NL, IQ4_XS, MXFP4 and Q2_K to Q6_K are supported",
                      SPEC_GGUF_SHOWN(tensor->name),
                      number < N_TYPE_NAMES ? type_names[number] : unnamed);
    }
    if (spec_tensor_row_bytes(tensor->tensor.type, tensor->tensor.cols) == 0)
        return REFUSE(in,
                      "the rows of tensor '%.*s' have %d weights, not a multiple of the %d of a "
                      "block",
                      SPEC_GGUF_SHOWN(tensor->name), tensor->tensor.cols,
                      spec_tensor_block_weights(tensor->tensor.type));
done:
    return status;
}

static uint64_t tensor_bytes(const spec_gguf_tensor *tensor)
{
    const size_t row = tensor->integers
                           ? (size_t)tensor->tensor.cols * sizeof(int64_t)
                           : spec_tensor_row_bytes(tensor->tensor.type, tensor->tensor.cols);
    return (uint64_t)tensor->tensor.rows * row;
}

/* Checks where the data of each tensor lies, in the order of offsets. */
static int place(spec_gguf *gguf, size_t data, size_t alignment, spec_error *error)
{
    const size_t length = gguf->mapping.length;
    uint64_t end = 0;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        spec_gguf_tensor *tensor = &gguf->tensor[i];
        const uint64_t bytes = tensor_bytes(tensor); /* below 2^31 * 2^33 */
        if (tensor->offset % alignment != 0)
            return spec_fail(error, GSL_EINVAL,
                             "%.300s: tensor '%.*s' lies off the alignment of %zu bytes",
                             gguf->path, SPEC_GGUF_SHOWN(tensor->name), alignment);
        if (data > length || tensor->offset > length - data ||
            bytes > length - data - tensor->offset)
            return spec_fail(error, GSL_EINVAL,
                             "%.300s: is cut short: tensor '%.*s' ends beyond its %zu bytes",
                             gguf->path, SPEC_GGUF_SHOWN(tensor->name), length);
        if (tensor->offset < end)
            return spec_fail(error, GSL_EINVAL, "%.300s: tensors '%.*s' and '%.*s' overlap",
                             gguf->path, SPEC_GGUF_SHOWN(tensor[-1].name),
                             SPEC_GGUF_SHOWN(tensor->name));
        end = tensor->offset + bytes;
        tensor->tensor.data = gguf->mapping.bytes + data + tensor->offset;
    }
    end = (end + alignment - 1) / alignment * alignment;
    if (length > data && length - data > end)
        return spec_fail(error, GSL_EINVAL, "%.300s: %zu bytes follow its last tensor", gguf->path,
                         length - data - (size_t)end);
    return GSL_SUCCESS;
}

/* ---- the whole file -------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return spec_piece_order(((const spec_gguf_tensor *)a)->name,
                            ((const spec_gguf_tensor *)b)->name);
}

static int by_offset(const void *a, const void *b)
{
    const uint64_t x = ((const spec_gguf_tensor *)a)->offset,
                   y = ((const spec_gguf_tensor *)b)->offset;
    return (x > y) - (x < y);
}

static int sort_values(spec_gguf *gguf, spec_error *error)
{
    qsort(gguf->value, gguf->n_values, sizeof *gguf->value, spec_gguf_value_by_key);
    for (size_t i = 1; i < gguf->n_values; i++) {
        if (spec_piece_order(gguf->value[i - 1].key, gguf->value[i].key) == 0)
            return spec_fail(error, GSL_EINVAL, "%.300s: the value of '%.*s' occurs twice",
                             gguf->path, SPEC_GGUF_SHOWN(gguf->value[i].key));
    }
    return GSL_SUCCESS;
}

static int sort_tensors(spec_gguf *gguf, spec_error *error)
{
    qsort(gguf->tensor, gguf->n_tensors, sizeof *gguf->tensor, by_name);
    for (size_t i = 1; i < gguf->n_tensors; i++) {
        if (spec_piece_order(gguf->tensor[i - 1].name, gguf->tensor[i].name) == 0)
            return spec_fail(error, GSL_EINVAL, "%.300s: tensor '%.*s' occurs twice", gguf->path,
                             SPEC_GGUF_SHOWN(gguf->tensor[i].name));
    }
    return GSL_SUCCESS;
}

static int read_counts(spec_gguf *gguf, reader *in)
{
    int status = GSL_SUCCESS;
    uint32_t version = 0;
    uint64_t n_tensors = 0, n_values = 0;
    if (in->length < 4 || memcmp(in->bytes, "GGUF", 4) != 0)
        return spec_fail(in->error, GSL_EINVAL, "%.300s: is not a GGUF file", in->path);
    in->at = 4;
    SPEC_TRY(read_u32(&version, in));
    if (version != 0 && (version & 0xffff) == 0)
        return spec_fail(in->error, GSL_EINVAL, "%.300s: is a big-endian GGUF file", in->path);
    if (version != 2 && version != 3)
        return REFUSE(in, "is GGUF version %u; only 2 and 3 are supported", version);
    SPEC_TRY(read_u64(&n_tensors, in));
    SPEC_TRY(read_u64(&n_values, in));
    const size_t left = in->length - in->at;
    if (n_values > SPEC_GGUF_COUNT_MAX || n_tensors > SPEC_GGUF_COUNT_MAX)
        return REFUSE(in, "claims %llu values and %llu tensors; at most %d of each are supported",
                      (unsigned long long)n_values, (unsigned long long)n_tensors,
                      SPEC_GGUF_COUNT_MAX);
    if (n_values > left / LEAST_VALUE_BYTES || n_tensors > left / LEAST_TENSOR_BYTES)
        SPEC_TRY(cut_short(in));
    gguf->n_values = (size_t)n_values;
    gguf->n_tensors = (size_t)n_tensors;
done:
    return status;
}

int spec_gguf_init(spec_gguf *gguf, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS, alignment;
    *gguf = (spec_gguf){.path = path};
    SPEC_TRY(spec_mapping_init(&gguf->mapping, path, error));
    reader in = {path, gguf->mapping.bytes, gguf->mapping.length, 0, error};
    SPEC_TRY(read_counts(gguf, &in));
    gguf->value = malloc((gguf->n_values + 1) * sizeof *gguf->value);
    gguf->tensor = malloc((gguf->n_tensors + 1) * sizeof *gguf->tensor);
    if (gguf->value == NULL || gguf->tensor == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", path));
    for (size_t i = 0; i < gguf->n_values; i++) SPEC_TRY(read_value(&gguf->value[i], &in, i));
    SPEC_TRY(sort_values(gguf, error));
    for (size_t i = 0; i < gguf->n_tensors; i++) SPEC_TRY(read_tensor(&gguf->tensor[i], &in, i));
    SPEC_TRY(spec_gguf_value_integer(&alignment, gguf, "general.alignment", SPEC_GGUF_ALIGNMENT, 1,
                                     ALIGNMENT_MAX, error));
    if ((alignment & (alignment - 1)) != 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: an alignment of %d is not a power of "
                           "two",
                           path, alignment));
    const size_t step = (size_t)alignment, data = (in.at + step - 1) / step * step;
    qsort(gguf->tensor, gguf->n_tensors, sizeof *gguf->tensor, by_offset);
    SPEC_TRY(place(gguf, data, step, error));
    SPEC_TRY(sort_tensors(gguf, error));
done:
    if (status != GSL_SUCCESS) spec_gguf_free(gguf);
    return status;
}

void spec_gguf_free(spec_gguf *gguf)
{
    free(gguf->value);
    free(gguf->tensor);
    spec_mapping_free(&gguf->mapping);
    *gguf = (spec_gguf){0};
}

const spec_gguf_tensor *spec_gguf_find_tensor(const spec_gguf *gguf, const char *name)
{
    const spec_gguf_tensor wanted = {.name = {name, strlen(name)}};
    return bsearch(&wanted, gguf->tensor, gguf->n_tensors, sizeof wanted, by_name);
}

int spec_gguf_need_weights(const spec_gguf_tensor **ret_tensor, const spec_gguf *gguf,
                           const char *name, int rows, int cols, bool is_vector, spec_error *error)
{
    const spec_gguf_tensor *found = *ret_tensor = spec_gguf_find_tensor(gguf, name);
    if (found == NULL)
        return spec_fail(error, GSL_EINVAL, "%.300s: tensor '%s' is missing", gguf->path, name);
    if (found->tensor.rows != rows || found->tensor.cols != cols)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: tensor '%s' has %d rows of %d where the model's shape asks for "
                         "%d of %d",
                         gguf->path, name, found->tensor.rows, found->tensor.cols, rows, cols);
    if (found->integers || (is_vector && found->tensor.type != SPEC_TENSOR_F32))
        return spec_fail(error, GSL_EINVAL, "%.300s: tensor '%s' is of type %s where %s",
                         gguf->path, name,
                         found->integers ? "I64" : spec_tensor_type_names[found->tensor.type],
                         is_vector ? "a vector is f32" : "weights are needed");
    return GSL_SUCCESS;
}
