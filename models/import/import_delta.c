/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/import_delta.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 128 };

/* Names of the parts after "linear_attn.", apart from those of tensors in which parts are mixed. */
static const char *const names[SPEC_PARTS] = {
    [SPEC_PART_DELTA_INPUT] = "in_proj_qkv.weight",
    [SPEC_PART_DELTA_GATE] = "in_proj_z.weight",
    [SPEC_PART_DELTA_BETA] = "in_proj_b.weight",
    [SPEC_PART_DELTA_ALPHA] = "in_proj_a.weight",
    [SPEC_PART_DELTA_BOTH] = "in_proj_ba.weight",
    [SPEC_PART_DELTA_CONV] = "conv1d.weight",
    [SPEC_PART_DELTA_BIAS] = "dt_bias",
    [SPEC_PART_DELTA_RATE] = "A_log",
    [SPEC_PART_DELTA_NORM] = "norm.weight",
    [SPEC_PART_DELTA_OUTPUT] = "out_proj.weight",
};

/* ---- orders ---------------------------------------------------------------------------------- */

static int per_key(const spec_delta_shape *s)
{
    return s->n_value_heads / s->n_key_heads;
}

/* Returns which value head of the folder is head h of the file. In the folder, the value heads of a
 * key head are adjacent. */
static int head_of(const spec_import_delta *of, int h)
{
    const spec_delta_shape *s = &of->shape.delta;
    return s->is_tiled ? h % s->n_key_heads * per_key(s) + h / s->n_key_heads : h;
}

/* Returns the row of the folder's tensor that has value `at` of all heads: of v, or of z, which
 * follows it. */
static int row_of_value(const spec_import_delta *of, int at, bool is_gate)
{
    const spec_delta_shape *s = &of->shape.delta;
    const int head = head_of(of, at / s->value_dim), own = at % s->value_dim, n = per_key(s),
              group = 2 * s->key_dim + 2 * n * s->value_dim;
    if (!of->is_mixed)
        return (is_gate ? 0 : 2 * s->n_key_heads * s->key_dim) + head * s->value_dim + own;
    return head / n * group + 2 * s->key_dim + ((is_gate ? n : 0) + head % n) * s->value_dim + own;
}

/* Returns the row of the folder's tensor for a row of queries, keys and values. */
static int row_of_input(const spec_import_delta *of, int row)
{
    const spec_delta_shape *s = &of->shape.delta;
    const int keys = s->n_key_heads * s->key_dim, own = row % keys;
    if (row >= 2 * keys) return row_of_value(of, row - 2 * keys, false);
    if (!of->is_mixed) return row;
    return own / s->key_dim * (2 * s->key_dim + 2 * per_key(s) * s->value_dim) +
           (row >= keys ? s->key_dim : 0) + own % s->key_dim;
}

static int row_of(const spec_import_delta *of, spec_part part, int row)
{
    const spec_delta_shape *s = &of->shape.delta;
    const int keys = 2 * s->n_key_heads * s->key_dim;
    switch (part) {
    case SPEC_PART_DELTA_INPUT: return row_of_input(of, row);
    case SPEC_PART_DELTA_GATE: return row_of_value(of, row, true);
    case SPEC_PART_DELTA_CONV: /* its channels are never mixed */
        return row < keys ? row
                          : keys + head_of(of, (row - keys) / s->value_dim) * s->value_dim +
                                (row - keys) % s->value_dim;
    case SPEC_PART_DELTA_BETA:
    case SPEC_PART_DELTA_ALPHA:
    case SPEC_PART_DELTA_BIAS:
    case SPEC_PART_DELTA_RATE: return head_of(of, row);
    default: return row;
    }
}

static spec_tensor *source_of(const spec_import_delta *of, spec_part part, int layer)
{
    return &of->source[(size_t)layer * SPEC_PARTS + part];
}

const void *spec_import_delta_row(void *delta, spec_part part, int layer, int row)
{
    const spec_import_delta *of = delta;
    const spec_delta_shape *s = &of->shape.delta;
    const spec_tensor *source = source_of(of, part, layer);
    const unsigned char *from =
        (const unsigned char *)source->data +
        (size_t)row_of(of, part, row) * spec_tensor_row_bytes(source->type, source->cols);
    const size_t head = (size_t)s->value_dim * spec_tensor_row_bytes(source->type, 1);
    if (part != SPEC_PART_DELTA_OUTPUT || !s->is_tiled) return from;
    for (int h = 0; h < s->n_value_heads; h++)
        memcpy(of->buffer + (size_t)h * head, from + (size_t)head_of(of, h) * head, head);
    return of->buffer;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Copies a vector or the convolution to `to`, in the order and units of the file. */
static float *convert(float *to, spec_tensor *ret_tensor, const spec_import_delta *of,
                      spec_part part, int layer)
{
    const spec_tensor *source = source_of(of, part, layer);
    int rows, cols;
    spec_checkpoint_parts_shape(&rows, &cols, part, &of->shape);
    *ret_tensor = (spec_tensor){SPEC_TENSOR_F32, rows, cols, to};
    spec_tensor column = *source; /* a vector's values are rows of one value */
    if (rows == 1) column.rows = cols, column.cols = 1;
    for (int row = 0; row < column.rows; row++, to += column.cols) {
        spec_tensor_decode_row(to, &column, row_of(of, part, row));
        if (part == SPEC_PART_DELTA_RATE) *to = -expf(*to);
    }
    return to;
}

/* The mixed tensor has the rows of two parts. */
static int find(spec_import_delta *of, spec_part part, int layer, spec_tensor_folder *folder,
                const char *layers, spec_error *error)
{
    char name[NAME_SIZE];
    int rows, cols;
    const bool mixes = of->is_mixed && part == SPEC_PART_DELTA_INPUT;
    spec_checkpoint_parts_shape(&rows, &cols, part, &of->shape);
    if (mixes) rows += of->shape.delta.n_value_heads * of->shape.delta.value_dim;
    if (of->is_mixed && part == SPEC_PART_DELTA_GATE) {
        *source_of(of, part, layer) = *source_of(of, SPEC_PART_DELTA_INPUT, layer);
        return GSL_SUCCESS;
    }
    snprintf(name, sizeof name, "%s%d.linear_attn.%s", layers, layer,
             mixes ? "in_proj_qkvz.weight" : names[part]);
    return spec_tensor_folder_weights(source_of(of, part, layer), folder, name, rows, cols, error);
}

static int take_layer(spec_import_delta *of, float **vectors, spec_checkpoint *to, int layer,
                      spec_tensor_folder *folder, const char *layers, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int i = SPEC_PART_DELTA_INPUT; i <= SPEC_PART_DELTA_OUTPUT; i++) {
        const spec_part part = (spec_part)i;
        if (!spec_architecture_may(to->opt_architecture, part)) continue;
        SPEC_TRY(find(of, part, layer, folder, layers, error));
        spec_tensor *tensor = spec_checkpoint_parts_tensor(part, to, layer);
        if (spec_checkpoint_parts_is_vector(part)) {
            *vectors = convert(*vectors, tensor, of, part, layer);
        } else {
            *tensor = *source_of(of, part, layer);
            spec_checkpoint_parts_shape(&tensor->rows, &tensor->cols, part, &of->shape);
        }
    }
done:
    return status;
}

int spec_import_delta_init(spec_import_delta *delta, spec_checkpoint *to,
                           spec_tensor_folder *folder, const char *layers, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_delta_shape *s = &to->shape.delta;
    *delta = (spec_import_delta){
        .shape = to->shape,
        .is_mixed = spec_architecture_must(to->opt_architecture, SPEC_PART_DELTA_BOTH)};
    const size_t floats = (size_t)spec_checkpoint_channels(s) * (size_t)s->kernel +
                          2 * (size_t)s->n_value_heads + (size_t)s->value_dim;
    if ((size_t)s->n_layers > folder->n_tensors) /* the widths so far come only from the config */
        return spec_fail(error, GSL_EINVAL, "%.300s: has %zu tensors, too few for %d layers",
                         folder->path, folder->n_tensors, s->n_layers);
    delta->source = calloc((size_t)to->shape.n_layers * SPEC_PARTS, sizeof *delta->source);
    delta->vectors = malloc((size_t)s->n_layers * floats * sizeof *delta->vectors);
    delta->buffer =
        malloc((size_t)s->n_value_heads * (size_t)s->value_dim * sizeof *delta->vectors);
    if (delta->source == NULL || delta->vectors == NULL || delta->buffer == NULL)
        SPEC_TRY(spec_no_memory_for(error, folder->path));
    float *vectors = delta->vectors;
    for (int layer = 0; layer < to->shape.n_layers; layer++)
        if (to->layer[layer].is_recurrent)
            SPEC_TRY(take_layer(delta, &vectors, to, layer, folder, layers, error));
done:
    if (status != GSL_SUCCESS) spec_import_delta_free(delta);
    return status;
}

void spec_import_delta_free(spec_import_delta *delta)
{
    free(delta->source);
    free(delta->vectors);
    free(delta->buffer);
    *delta = (spec_import_delta){0};
}
