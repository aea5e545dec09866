/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/tensor.h"

#include "base/half_float.h"
#include "base/parallel.h"
#include "models/transformer/files/tensor_block.h"

#include <assert.h>
#include <string.h>

enum { HALF_BYTES = 2 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files are little endian, and are mapped as they are");

const char *const spec_tensor_type_names[SPEC_TENSOR_ALL_TYPES] = {
    "f32",    "f16",  "bf16", "q8_0",  "q4_0", "q4_k", "q5_k",  "q6_k", NULL, "q5_0",
    "iq4_nl", "q4_1", "q5_1", "mxfp4", "q2_k", "q3_k", "iq4_xs"};

static const spec_tensor_block *const blocks[SPEC_TENSOR_ALL_TYPES] = {
    [SPEC_TENSOR_Q8_0] = &spec_tensor_block_q8_0,
    [SPEC_TENSOR_Q4_0] = &spec_tensor_block_q4_0,
    [SPEC_TENSOR_Q5_0] = &spec_tensor_block_q5_0,
    [SPEC_TENSOR_Q4_K] = &spec_tensor_block_q4_k,
    [SPEC_TENSOR_IQ4_NL] = &spec_tensor_block_iq4_nl,
    [SPEC_TENSOR_Q5_K] = &spec_tensor_block_q5_k,
    [SPEC_TENSOR_Q6_K] = &spec_tensor_block_q6_k,
    [SPEC_TENSOR_Q4_1] = &spec_tensor_block_q4_1,
    [SPEC_TENSOR_Q5_1] = &spec_tensor_block_q5_1,
    [SPEC_TENSOR_MXFP4] = &spec_tensor_block_mxfp4,
    [SPEC_TENSOR_Q2_K] = &spec_tensor_block_q2_k,
    [SPEC_TENSOR_Q3_K] = &spec_tensor_block_q3_k,
    [SPEC_TENSOR_IQ4_XS] = &spec_tensor_block_iq4_xs,
};

static inline uint16_t half_at(const unsigned char *data)
{
    uint16_t half;
    memcpy(&half, data, sizeof half);
    return half;
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool spec_tensor_is_quantised(spec_tensor_type type)
{
    return blocks[type] != NULL;
}

bool spec_tensor_can_write(spec_tensor_type type)
{
    if (blocks[type] != NULL) return blocks[type]->opt_write != NULL;
    return type == SPEC_TENSOR_F32 || type == SPEC_TENSOR_F16 || type == SPEC_TENSOR_BF16;
}

int spec_tensor_scale_end(spec_tensor_type type)
{
    if (blocks[type] == NULL || type == SPEC_TENSOR_Q8_0 || type == SPEC_TENSOR_Q4_0) return 0;
    return blocks[type]->has_exponent ? 1 << 19 : 1 << 9;
}

int spec_tensor_block_weights(spec_tensor_type type)
{
    return blocks[type] != NULL ? blocks[type]->weights : 1;
}

size_t spec_tensor_row_bytes(spec_tensor_type type, int cols)
{
    assert(cols >= 0);
    const spec_tensor_block *const block = blocks[type];
    if (block != NULL)
        return cols % block->weights == 0 ? (size_t)(cols / block->weights) * (size_t)block->bytes
                                          : 0;
    switch (type) {
    case SPEC_TENSOR_F32: return (size_t)cols * sizeof(float);
    case SPEC_TENSOR_F16:
    case SPEC_TENSOR_BF16: return (size_t)cols * HALF_BYTES;
    default: return 0;
    }
}

static void decode_blocks(float *ret_value, const spec_tensor_block *block,
                          const unsigned char *data, int cols)
{
    for (int i = 0; i < cols; i += block->weights, data += block->bytes) {
        float scale[SPEC_TENSOR_SCALES_MAX];
        for (int k = 0; k < block->n_scales; k++)
            scale[k] = spec_half_float_from_f16(half_at(data + block->scale_at[k]));
        block->decode(ret_value + i, data, scale);
    }
}

void spec_tensor_decode_row(float *ret_value, const spec_tensor *tensor, int row)
{
    assert(row >= 0 && row < tensor->rows);
    const size_t bytes = spec_tensor_row_bytes(tensor->type, tensor->cols);
    const unsigned char *data = (const unsigned char *)tensor->data + (size_t)row * bytes;
    const int cols = tensor->cols;
    switch (tensor->type) {
    case SPEC_TENSOR_F32: memcpy(ret_value, data, bytes); break;
    case SPEC_TENSOR_F16:
        for (int i = 0; i < cols; i++)
            ret_value[i] = spec_half_float_from_f16(half_at(data + HALF_BYTES * i));
        break;
    case SPEC_TENSOR_BF16:
        for (int i = 0; i < cols; i++)
            ret_value[i] = spec_half_float_from_bf16(half_at(data + HALF_BYTES * i));
        break;
    default: decode_blocks(ret_value, blocks[tensor->type], data, cols); break;
    }
}

/* Returns whether one of n half floats, `stride` bytes apart, has all bits of `exponent` set. With
 * the exponent of infinity, such a number is infinite or NaN. */
static bool has_bad_half(const unsigned char *data, size_t n, size_t stride, uint16_t exponent)
{
    int bad = 0;
    for (size_t i = 0; i < n; i++) bad |= (half_at(data + i * stride) & exponent) == exponent;
    return bad != 0;
}

static bool has_bad_float(const unsigned char *data, size_t n)
{
    int bad = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, data + i * sizeof bits, sizeof bits);
        bad |= (bits & 0x7f800000) == 0x7f800000;
    }
    return bad != 0;
}

/* The byte of 2^19 in E8M0; 255, which is NaN, is above it. */
enum { EXPONENT_END = 127 + 19 };

static bool is_bad(spec_tensor_type type, const unsigned char *row, int cols)
{
    const size_t n = (size_t)cols;
    const spec_tensor_block *const block = blocks[type];
    if (type == SPEC_TENSOR_F32) return has_bad_float(row, n);
    if (block == NULL)
        return has_bad_half(row, n, HALF_BYTES, type == SPEC_TENSOR_F16 ? 0x7c00 : 0x7f80);
    const int end = spec_tensor_scale_end(type);
    const uint16_t exponent = end == 0 ? 0x7c00 : 0x6000; /* infinity or NaN; 2^9 and above */
    bool bad = false;
    if (block->has_exponent)
        for (size_t i = 0; i < n / (size_t)block->weights; i++)
            bad |= row[i * (size_t)block->bytes] >= EXPONENT_END;
    for (int k = 0; k < block->n_scales; k++)
        bad |= has_bad_half(row + block->scale_at[k], n / (size_t)block->weights,
                            (size_t)block->bytes, exponent);
    return bad;
}

/* Rows are checked in stretches; a thread takes one stretch at a time. */
enum { STRETCHES = 64 };

typedef struct {
    const spec_tensor *tensor;
    int bad[STRETCHES]; /* the first bad row of a stretch, or -1 */
} search;

static void search_stretch(void *self, uint64_t stretch, int worker)
{
    search *s = self;
    const int64_t rows = s->tensor->rows;
    const size_t bytes = spec_tensor_row_bytes(s->tensor->type, s->tensor->cols);
    const unsigned char *data = s->tensor->data;
    (void)worker;
    s->bad[stretch] = -1;
    for (int64_t i = rows * (int64_t)stretch / STRETCHES;
         i < rows * (int64_t)(stretch + 1) / STRETCHES; i++) {
        if (!is_bad(s->tensor->type, data + (size_t)i * bytes, s->tensor->cols)) continue;
        s->bad[stretch] = (int)i;
        return;
    }
}

int spec_tensor_first_bad_row(const spec_tensor *tensor, spec_thread_pool *opt_pool)
{
    search s = {.tensor = tensor};
    const bool small =
        (size_t)tensor->rows * spec_tensor_row_bytes(tensor->type, tensor->cols) <= 1 << 20;
    spec_parallel_run(opt_pool, search_stretch, &s, STRETCHES,
                      small ? 1 : spec_thread_pool_size(opt_pool));
    for (int i = 0; i < STRETCHES; i++)
        if (s.bad[i] >= 0) return s.bad[i];
    return -1;
}

void spec_tensor_row_write(void *ret_data, spec_tensor_type type, const float *value, int cols)
{
    unsigned char *data = ret_data;
    const spec_tensor_block *const block = blocks[type];
    assert(spec_tensor_can_write(type) && cols % spec_tensor_block_weights(type) == 0);
    switch (type) {
    case SPEC_TENSOR_F32: memcpy(data, value, (size_t)cols * sizeof *value); break;
    case SPEC_TENSOR_F16:
    case SPEC_TENSOR_BF16:
        for (int i = 0; i < cols; i++) {
            const uint16_t half = type == SPEC_TENSOR_F16 ? spec_half_float_to_f16(value[i])
                                                          : spec_half_float_to_bf16(value[i]);
            memcpy(data + HALF_BYTES * i, &half, sizeof half);
        }
        break;
    default:
        for (int i = 0; i < cols; i += block->weights, data += block->bytes)
            block->opt_write(data, value + i);
        break;
    }
}

void spec_tensor_convert_row(void *ret_data, spec_tensor_type type, const spec_tensor *tensor,
                             int row, float *value)
{
    const int cols = tensor->cols;
    const size_t bytes = spec_tensor_row_bytes(tensor->type, cols);
    const unsigned char *from = (const unsigned char *)tensor->data + (size_t)row * bytes;
    const spec_tensor_block *const block = blocks[tensor->type];
    unsigned char *data = ret_data;
    if (type == tensor->type) {
        memcpy(data, from, bytes);
    } else if (type == SPEC_TENSOR_Q8_0 && block != NULL && block->opt_to_q8_0 != NULL) {
        for (int i = 0; i < cols; i += block->weights, from += block->bytes) {
            block->opt_to_q8_0(data, from);
            data += blocks[type]->bytes;
        }
    } else {
        spec_tensor_decode_row(value, tensor, row);
        spec_tensor_row_write(data, type, value, cols);
    }
}
