/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/widening.h"

#include "models/transformer/files/architecture.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static bool is_power_of_four(int by)
{
    while (by > 1 && by % 4 == 0) by /= 4;
    return by == 1;
}

static bool is_norm(spec_part part)
{
    return part == SPEC_PART_FINAL_NORM || part == SPEC_PART_ATTENTION_NORM ||
           part == SPEC_PART_FFN_NORM;
}

static void fill(unsigned char *data, const spec_tensor *wide, const spec_tensor *from, int by,
                 spec_part part)
{
    const size_t to_bytes = spec_tensor_row_bytes(wide->type, wide->cols),
                 from_bytes = spec_tensor_row_bytes(from->type, from->cols);
    for (int row = 0; row < from->rows; row++)
        memcpy(data + (size_t)row * to_bytes,
               (const unsigned char *)from->data + (size_t)row * from_bytes, from_bytes);
    if (!is_norm(part)) return;
    for (int i = 0; i < from->cols; i++) {
        float gain;
        memcpy(&gain, data + (size_t)i * sizeof gain, sizeof gain);
        gain = (float)((double)gain / sqrt((double)by));
        memcpy(data + (size_t)i * sizeof gain, &gain, sizeof gain);
    }
}

/* Adds up the bytes of all tensors; with opt_data, also places and fills them. */
static size_t lay_out(spec_checkpoint *wide, const spec_checkpoint *model, int by,
                      unsigned char *opt_data)
{
    size_t bytes = 0;
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        if (part == SPEC_PART_OUTPUT && model->output.data == model->embedding.data) continue;
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &model->shape); layer++) {
            const spec_tensor *from = spec_checkpoint_parts_tensor_const(part, model, layer);
            spec_tensor *to = spec_checkpoint_parts_tensor(part, wide, layer);
            if (from->data == NULL) continue;
            to->type = from->type;
            spec_checkpoint_parts_shape(&to->rows, &to->cols, part, &wide->shape);
            if (opt_data != NULL) {
                to->data = opt_data + bytes;
                fill(opt_data + bytes, to, from, by, part);
            }
            bytes += (size_t)to->rows * spec_tensor_row_bytes(to->type, to->cols);
            bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    }
    return bytes;
}

int spec_widening_init(spec_checkpoint *ret, const spec_checkpoint *model, int by, const char *path,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret = (spec_checkpoint){.shape = model->shape,
                             .begin_of_text = model->begin_of_text,
                             .adds_begin = model->adds_begin,
                             .ends = model->ends,
                             .free_owned = free};
    spec_shape *shape = &ret->shape;
    spec_error why;
    if (spec_architecture_need_plain(model, "widening", "widen one of llama or qwen2", &why) !=
        GSL_SUCCESS)
        return spec_fail(error, GSL_EINVAL, "%.200s: %.280s", path, why.text);
    if (by < 4 || !is_power_of_four(by))
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: cannot be widened by %d: only powers of four are exact in "
                         "floating point; use 4, 16 or 64",
                         path, by);
    if (by > SPEC_DIM_MAX / shape->dim || by > SPEC_DIM_MAX / shape->ffn_dim ||
        by > SPEC_DIM_MAX / (shape->n_heads * shape->head_dim))
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: is too wide to be widened by %d: no width may exceed %d", path,
                         by, (int)SPEC_DIM_MAX);
    shape->dim *= by;
    shape->ffn_dim *= by;
    shape->n_heads *= by;
    shape->n_kv_heads *= by;
    shape->norm_eps /= (float)by;
    ret->layer = calloc((size_t)shape->n_layers, sizeof *ret->layer);
    if (ret->layer == NULL) SPEC_TRY(spec_no_memory_for(error, path));
    ret->owned = calloc(1, lay_out(ret, model, by, NULL));
    if (ret->owned == NULL) SPEC_TRY(spec_no_memory_for(error, path));
    lay_out(ret, model, by, ret->owned);
    if (model->output.data == model->embedding.data) ret->output = ret->embedding;
done:
    if (status != GSL_SUCCESS) spec_checkpoint_free(ret);
    return status;
}
