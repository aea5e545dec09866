/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/training_head.h"

#include "base/noise.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <string.h>

/* Parts that share one parameter, first to last. */
static const struct {
    spec_head_part first, last;
} fused[] = {{SPEC_HEAD_QUERY, SPEC_HEAD_VALUE}, {SPEC_HEAD_GATE, SPEC_HEAD_UP}};

/* Returns the number of parts in the parameter that begins with `part`; 0 if it belongs to the
 * parameter of an earlier part. */
static int parts_of(spec_head_part part)
{
    for (size_t i = 0; i < sizeof fused / sizeof fused[0]; i++) {
        if (part == fused[i].first) return (int)(fused[i].last - fused[i].first) + 1;
        if (part > fused[i].first && part <= fused[i].last) return 0;
    }
    return 1;
}

spec_head_shape spec_training_head_shape(spec_head_kind kind, const spec_shape *target, int reach)
{
    const bool is_eagle3 = kind == SPEC_HEAD_EAGLE3 || kind == SPEC_HEAD_PARALLEL,
               has_layers = is_eagle3 || kind == SPEC_HEAD_EAGLE || kind == SPEC_HEAD_MTP,
               ends = kind == SPEC_HEAD_MEDUSA || kind == SPEC_HEAD_HYDRA ||
                      kind == SPEC_HEAD_MTP || kind == SPEC_HEAD_PARALLEL;
    const int L = target->n_layers;
    spec_head_shape s = {.kind = kind,
                         .shape = *target,
                         .reach = ends ? reach : 0,
                         .n_taps = is_eagle3 ? 3 : 1,
                         .tap = {L},
                         .draft_vocab = target->vocab};
    s.shape.n_layers = kind == SPEC_HEAD_MTP ? reach : has_layers ? 1 : 0;
    if (!has_layers) s.shape.n_heads = s.shape.n_kv_heads = s.shape.head_dim = s.shape.ffn_dim = 0;
    if (is_eagle3) {
        s.tap[0] = L > 2 ? 1 : 0;
        s.tap[1] = L > 2 ? (L + 1) / 2 : 1;
        s.tap[2] = L;
    }
    return s;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static float *floats_of(const spec_training_head *head, spec_head_part part, int copy)
{
    const spec_tensor *tensor = &head->head.tensor[part][copy];
    return head->parameters.value + ((const float *)tensor->data - head->parameters.value);
}

static void add_all(spec_training_head *head, const spec_head_shape *shape)
{
    for (int part = 0; part < SPEC_HEAD_PARTS; part++) {
        const int n = parts_of((spec_head_part)part);
        for (int copy = 0; n > 0 && copy < spec_head_copies((spec_head_part)part, shape); copy++) {
            char name[SPEC_HEAD_NAME_SIZE];
            int rows = 0, more, cols;
            for (int i = part; i < part + n; i++) {
                spec_head_part_shape(&more, &cols, (spec_head_part)i, copy, shape);
                rows += more;
            }
            spec_head_part_name(name, (spec_head_part)part, copy, shape);
            for (int i = part; i < part + n; i++) head->index[i][copy] = head->parameters.n;
            spec_parameters_add(&head->parameters, name, rows, cols);
        }
    }
}

static void view(spec_training_head *head, const spec_head_shape *shape)
{
    head->head.shape = *shape;
    for (int part = 0; part < SPEC_HEAD_PARTS; part++)
        for (int copy = 0; copy < spec_head_copies((spec_head_part)part, shape); copy++) {
            const int index = head->index[part][copy];
            float *data = spec_parameters_value(&head->parameters, index);
            int rows, cols;
            for (int i = part - 1; i >= 0 && spec_head_copies((spec_head_part)i, shape) > copy &&
                                   head->index[i][copy] == index;
                 i--) {
                spec_head_part_shape(&rows, &cols, (spec_head_part)i, copy, shape);
                data += (size_t)rows * (size_t)cols;
            }
            spec_head_part_shape(&rows, &cols, (spec_head_part)part, copy, shape);
            head->head.tensor[part][copy] = (spec_tensor){SPEC_TENSOR_F32, rows, cols, data};
        }
}

static int prepare(spec_training_head *head, const spec_head_shape *shape, spec_error *error)
{
    int status = GSL_SUCCESS;
    *head = (spec_training_head){0};
    SPEC_TRY(spec_parameters_init(&head->parameters, SPEC_HEAD_PARTS * SPEC_HEAD_REACH_MAX, error));
    add_all(head, shape);
    SPEC_TRY(spec_parameters_allocate(&head->parameters, false, error));
    view(head, shape);
done:
    return status;
}

void spec_training_head_free(spec_training_head *head)
{
    spec_parameters_free(&head->parameters);
    *head = (spec_training_head){0};
}

/* Draws uniform numbers that have this standard deviation. */
static void draw(float *value, size_t n, double deviation, uint64_t key)
{
    for (size_t i = 0; i < n; i++)
        value[i] = (float)(((double)(spec_noise_word(key, i) >> 11) * 0x1p-53 - 0.5) * deviation *
                           sqrt(12.0));
}

/* Returns the standard deviation of the initial weights of a matrix, or of a bias, with `inputs`
 * inputs. */
static double deviation_of(spec_head_kind kind, int inputs)
{
    switch (kind) {
    case SPEC_HEAD_EAGLE3:
    case SPEC_HEAD_PARALLEL: return 0.02;
    case SPEC_HEAD_MTP: return 0.04;
    case SPEC_HEAD_EAGLE: return 0.06;
    default: return 1.0 / sqrt(3.0 * inputs);
    }
}

static bool is_norm(spec_head_part part)
{
    return part == SPEC_HEAD_EMBEDDING_NORM || part == SPEC_HEAD_FEATURE_NORM ||
           part == SPEC_HEAD_ATTENTION_NORM || part == SPEC_HEAD_FFN_NORM ||
           part == SPEC_HEAD_INPUT_NORM;
}

static void begin_part(spec_training_head *head, spec_head_part part, int copy,
                       const spec_training_model *target, uint64_t key)
{
    const spec_head_shape *shape = &head->head.shape;
    const spec_tensor *to = &head->head.tensor[part][copy];
    const size_t n = (size_t)to->rows * (size_t)to->cols, dim = (size_t)shape->shape.dim;
    float *value = floats_of(head, part, copy);
    const int copied = part == SPEC_HEAD_FINAL_NORM  ? target->final_norm
                       : part == SPEC_HEAD_EMBEDDING ? target->embedding
                                                     : target->output;
    const float *from = spec_parameters_value(&target->parameters, copied);
    if (is_norm(part)) {
        for (size_t i = 0; i < n; i++) value[i] = 1.0f;
    } else if (part == SPEC_HEAD_FINAL_NORM || part == SPEC_HEAD_EMBEDDING ||
               part == SPEC_HEAD_DEPTH_OUTPUT || part == SPEC_HEAD_OUTPUT) {
        /* ReDrafter's output reads its own state, which at first has no effect, and then the
         * target's */
        const size_t cols = (size_t)to->cols;
        for (size_t row = 0; row < (size_t)to->rows; row++)
            memcpy(value + row * cols + (cols - dim), from + row * dim, dim * sizeof *value);
    } else if (shape->kind != SPEC_HEAD_MEDUSA) {
        const spec_tensor *matrix = to;
        if (spec_head_part_is_vector(part)) matrix = &head->head.tensor[part - 1][copy];
        draw(value, n, deviation_of(shape->kind, matrix->cols), key);
    }
}

int spec_training_head_draw(spec_training_head *head, const spec_head_shape *shape,
                            const spec_training_model *target, uint64_t seed, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(prepare(head, shape, error));
    for (int part = 0; part < SPEC_HEAD_PARTS; part++)
        for (int copy = 0; copy < spec_head_copies((spec_head_part)part, shape); copy++)
            begin_part(head, (spec_head_part)part, copy, target,
                       spec_noise_key(seed, (const int[]){part, copy}, 2, -1));
done:
    if (status != GSL_SUCCESS) spec_training_head_free(head);
    return status;
}

int spec_training_head_load(spec_training_head *head, const spec_head *from, spec_error *error)
{
    int status = GSL_SUCCESS;
    *head = (spec_training_head){0};
    if (from->opt_token != NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "a head of a reduced vocabulary, %d of %d tokens, cannot be trained",
                           from->shape.draft_vocab, from->shape.shape.vocab));
    if (from->shape.own_embedding)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "a head of kind eagle3 with an embedding of its own cannot be trained"));
    SPEC_TRY(prepare(head, &from->shape, error));
    for (int part = 0; part < SPEC_HEAD_PARTS; part++)
        for (int copy = 0; copy < spec_head_copies((spec_head_part)part, &from->shape); copy++) {
            const spec_tensor *source = &from->tensor[part][copy];
            float *value = floats_of(head, (spec_head_part)part, copy);
            for (int row = 0; row < source->rows; row++)
                spec_tensor_decode_row(value + (size_t)row * (size_t)source->cols, source, row);
        }
done:
    if (status != GSL_SUCCESS) spec_training_head_free(head);
    return status;
}
