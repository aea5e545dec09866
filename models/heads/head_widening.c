/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_widening.h"

#include "models/heads/head_file.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static bool is_norm(spec_head_part part)
{
    return part == SPEC_HEAD_EMBEDDING_NORM || part == SPEC_HEAD_FEATURE_NORM ||
           part == SPEC_HEAD_ATTENTION_NORM || part == SPEC_HEAD_FFN_NORM ||
           part == SPEC_HEAD_FINAL_NORM;
}

/* Fills a tensor. If rows or columns join several vectors, each of these is followed by its own
 * zeros. */
static void fill(unsigned char *data, const spec_tensor *wide, const spec_tensor *from,
                 int in_column, int in_row)
{
    const int from_rows = from->rows / in_column, to_rows = wide->rows / in_column;
    const size_t to_bytes = spec_tensor_row_bytes(wide->type, wide->cols),
                 from_bytes = spec_tensor_row_bytes(from->type, from->cols),
                 to_part = to_bytes / (size_t)in_row, from_part = from_bytes / (size_t)in_row;
    for (int row = 0; row < from->rows; row++) {
        const size_t to_row = (size_t)(row / from_rows * to_rows + row % from_rows);
        for (int k = 0; k < in_row; k++)
            memcpy(data + to_row * to_bytes + (size_t)k * to_part,
                   (const unsigned char *)from->data + (size_t)row * from_bytes +
                       (size_t)k * from_part,
                   from_part);
    }
}

static void scale(unsigned char *data, int n, double factor)
{
    for (int i = 0; i < n; i++) {
        float gain;
        memcpy(&gain, data + (size_t)i * sizeof gain, sizeof gain);
        gain = (float)((double)gain * factor);
        memcpy(data + (size_t)i * sizeof gain, &gain, sizeof gain);
    }
}

/* Adds up the bytes of all tensors; with opt_data, also places and fills them. */
static size_t lay_out(spec_head *wide, const spec_head *head, int by, unsigned char *opt_data)
{
    size_t bytes = 0;
    for (int i = 0; i < SPEC_HEAD_PARTS; i++) {
        const spec_head_part part = (spec_head_part)i;
        for (int copy = 0; copy < spec_head_copies(part, &head->shape); copy++) {
            const spec_tensor *from = &head->tensor[part][copy];
            spec_tensor *to = &wide->tensor[part][copy];
            int in_column, in_row;
            to->type = from->type;
            spec_head_part_shape(&to->rows, &to->cols, part, copy, &wide->shape);
            spec_head_part_joined(&in_column, &in_row, part, copy, &head->shape);
            if (opt_data != NULL) {
                to->data = opt_data + bytes;
                fill(opt_data + bytes, to, from, in_column, in_row);
                if (is_norm(part)) scale(opt_data + bytes, from->cols, 1.0 / sqrt((double)by));
            }
            bytes += (size_t)to->rows * spec_tensor_row_bytes(to->type, to->cols);
            bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    }
    return bytes;
}

int spec_head_widening_init(spec_head *ret, const spec_head *head,
                            const spec_checkpoint *wide_target, int by, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret = (spec_head){.shape = head->shape,
                       .fingerprint = spec_head_file_fingerprint(wide_target),
                       .free_owned = free};
    spec_shape *shape = &ret->shape.shape;
    if (head->shape.norm_before_fc)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "a head with norm_before_fc cannot be widened: the zeros between its "
                           "states would change the rounding of that norm"));
    shape->dim *= by;
    ret->shape.target_dim *= by;
    shape->ffn_dim *= by;
    shape->n_heads *= by;
    shape->n_kv_heads *= by;
    shape->norm_eps /= (float)by;
    if (head->opt_token != NULL) {
        const size_t bytes = (size_t)head->shape.draft_vocab * sizeof *head->opt_token;
        ret->opt_token = malloc(bytes);
        if (ret->opt_token == NULL) SPEC_TRY(spec_no_memory(error));
        memcpy(ret->opt_token, head->opt_token, bytes);
    }
    ret->owned = calloc(1, lay_out(ret, head, by, NULL));
    if (ret->owned == NULL) SPEC_TRY(spec_no_memory(error));
    lay_out(ret, head, by, ret->owned);
done:
    if (status != GSL_SUCCESS) spec_head_free(ret);
    return status;
}
