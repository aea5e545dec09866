/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/checkpoint.h"

#include "base/half_float.h"
#include "base/noise.h"
#include "base/parallel.h"
#include "models/model.h"
#include "models/transformer/files/architecture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 64, SUPER = 256 };

/* Standard deviations of the random values below, in their own units. */
static const double normal_sd =
    37837.2272372; /* sum of four uniform numbers of 0..65535: sqrt(4 (2^32 - 1) / 12) */
/* uniform on -127..127, except that -127 is twice as likely */
static const double byte_sd = 73.8952224863;
static const double nibble_sd = 4.63680924775; /* uniform on -8..7, symmetric because the scale has
                                                  a random sign: sqrt(344 / 16) */
/* root of the mean square of a uniform number on 48..63 */
static const double step_rms = 55.6911123971;

/* ---- one row --------------------------------------------------------------------------------- */

/* Draws a nearly normal number that is the same on every machine: the sum of four uniform numbers,
 * scaled to the standard deviation `sd`. */
static float draw_weight(uint64_t key, int i, double sd)
{
    const uint64_t word = spec_noise_word(key, (uint64_t)i);
    const int sum = (int)(word & 0xffff) + (int)(word >> 16 & 0xffff) + (int)(word >> 32 & 0xffff) +
                    (int)(word >> 48);
    return (float)((double)(sum - 2 * 0xffff) * (sd / normal_sd));
}

static void draw_floats(unsigned char *row, spec_tensor_type type, int cols, uint64_t key,
                        double sd)
{
    const int bytes = (int)spec_tensor_row_bytes(type, 1);
    for (int i = 0; i < cols; i++) {
        const float weight = draw_weight(key, i, sd);
        spec_tensor_row_write(row + (size_t)i * (size_t)bytes, type, &weight, 1);
    }
}

/* Draws blocks of 256 with random integers and scales: d of random sign for all blocks, and steps s
 * in 48..63 for runs of weights. Q4_K, Q5_K: w = d s q - 7.5 or 15.5 d s, uniform around 0. Q6_K: w
 * = d s (q - 32), with a mean of d s (-1/2) that the signs of s cancel. */
static void draw_super_blocks(unsigned char *row, spec_tensor_type type, int cols, uint64_t key,
                              double sd)
{
    const size_t bytes = spec_tensor_row_bytes(type, SUPER);
    const bool six = type == SPEC_TENSOR_Q6_K;
    const int levels = type == SPEC_TENSOR_Q4_K ? 16 : type == SPEC_TENSOR_Q5_K ? 32 : 64;
    const double middle = (levels - 1) / 2.0,
                 level_sd = sqrt(((double)levels * levels - 1.0) / 12.0 + (six ? 0.25 : 0.0));
    const float unit = (float)(sd / (step_rms * level_sd));
    uint64_t at = 0;
    for (int i = 0; i < cols; i += SUPER, row += bytes) {
        for (size_t b = 0; b < bytes; b += sizeof(uint64_t)) {
            const uint64_t word = spec_noise_word(key, at++);
            memcpy(row + b, &word, bytes - b < sizeof word ? bytes - b : sizeof word);
        }
        const uint16_t sign = (uint16_t)(spec_noise_word(key, at++) & 0x8000);
        uint16_t scale = spec_half_float_to_f16(unit) | sign;
        if (six) {
            unsigned char *const step = row + SUPER / 2 + SUPER / 4;
            for (int s = 0; s < SUPER / 16; s++) {
                const int size = 48 + (step[s] & 15);
                step[s] = (unsigned char)(signed char)(step[s] & 0x80 ? -size : size);
            }
            memcpy(row + bytes - sizeof scale, &scale, sizeof scale);
            continue;
        }
        memcpy(row, &scale, sizeof scale);
        scale = spec_half_float_to_f16((float)(middle * (double)spec_half_float_from_f16(scale)));
        memcpy(row + sizeof scale, &scale, sizeof scale);
        /* The minimum of each run equals its step, and both have their upper two bits set. */
        unsigned char *const packed = row + 2 * sizeof scale;
        for (int s = 0; s < 4; s++) {
            packed[s] = (unsigned char)(packed[s] | 0xf0);
            packed[s + 4] = packed[s];
            packed[s + 8] = (unsigned char)((packed[s + 8] & 15) * 17);
        }
    }
}

/* Draws blocks with random integers and one scale for all, of random sign. */
static void draw_blocks(unsigned char *row, spec_tensor_type type, int cols, uint64_t key,
                        double sd)
{
    if (spec_tensor_block_weights(type) == SUPER) {
        draw_super_blocks(row, type, cols, key, sd);
        return;
    }
    const bool bytes = type == SPEC_TENSOR_Q8_0;
    const int n_words = bytes ? 4 : 2;
    const uint16_t scale = spec_half_float_to_f16((float)(sd / (bytes ? byte_sd : nibble_sd)));
    uint64_t at = 0;
    for (int i = 0; i < cols; i += SPEC_TENSOR_BLOCK) {
        const uint16_t signed_scale = scale | (uint16_t)(spec_noise_word(key, at++) & 0x8000);
        memcpy(row, &signed_scale, sizeof signed_scale);
        row += sizeof signed_scale;
        for (int w = 0; w < n_words; w++, row += sizeof(uint64_t)) {
            const uint64_t word = spec_noise_word(key, at++);
            memcpy(row, &word, sizeof word);
            for (int k = 0; bytes && k < 8; k++)
                row[k] = row[k] == 0x80 ? 0x81 : row[k]; /* quantisers never write -128 */
        }
    }
}

/* ---- all tensors ----------------------------------------------------------------------------- */

static int out_of_memory(uint64_t bytes, spec_error *error)
{
    return spec_fail(error, GSL_ENOMEM,
                     "random: out of memory: the weights of this shape take %.3g GB, and as much "
                     "again when they are packed",
                     (double)bytes * 1e-9);
}

typedef struct {
    const spec_tensor *tensor;
    unsigned char *data;
    spec_part part;
    int layer;
    uint64_t seed;
    double sd;
} row_job;

static void draw_row(void *self, uint64_t row, int worker)
{
    const row_job *j = self;
    unsigned char *data =
        j->data + (size_t)row * spec_tensor_row_bytes(j->tensor->type, j->tensor->cols);
    const uint64_t key = spec_noise_key(j->seed, (int[]){(int)j->part, j->layer, (int)row}, 3, -1);
    (void)worker;
    (spec_tensor_is_quantised(j->tensor->type) ? draw_blocks : draw_floats)(
        data, j->tensor->type, j->tensor->cols, key, j->sd);
}

static void draw_tensor(const spec_tensor *tensor, unsigned char *data, spec_part part, int layer,
                        const spec_checkpoint *checkpoint)
{
    if (spec_checkpoint_parts_is_vector(part) && part != SPEC_PART_DELTA_CONV &&
        part != SPEC_PART_SHARED_GATE) {
        const float value = part == SPEC_PART_DELTA_RATE ? -1.0f / 16.0f : 1.0f;
        for (int i = 0; i < tensor->cols; i++)
            memcpy(data + (size_t)i * sizeof(float), &value, sizeof(float));
        return;
    }
    /* Chosen so that a product keeps the scale of its input, and the embedding has the scale of the
     * layers' outputs. */
    const double sd = part == SPEC_PART_EMBEDDING ? 1.0 : 1.0 / sqrt((double)tensor->cols);
    spec_parallel_run(checkpoint->opt_pool, draw_row,
                      &(row_job){tensor, data, part, layer, checkpoint->seed, sd},
                      (uint64_t)tensor->rows, spec_thread_pool_size(checkpoint->opt_pool));
}

static bool is_there(spec_part part, const spec_checkpoint *checkpoint)
{
    return part == SPEC_PART_OUTPUT || spec_architecture_must(checkpoint->opt_architecture, part);
}

/* Lays out the tensors one after another; if data is NULL, only counts the bytes. */
static uint64_t lay_out(spec_checkpoint *checkpoint, unsigned char *data, spec_tensor_type type)
{
    const spec_shape *shape = &checkpoint->shape;
    uint64_t at = 0;
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        int rows, cols;
        if (!is_there(part, checkpoint)) continue;
        spec_checkpoint_parts_shape(&rows, &cols, part, shape);
        const spec_tensor_type own =
            spec_checkpoint_parts_stays_float(part) ? SPEC_TENSOR_F32 : type;
        const uint64_t bytes = (uint64_t)rows * spec_tensor_row_bytes(own, cols);
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, shape); layer++) {
            if (!spec_checkpoint_parts_in_layer(part, checkpoint->layer[layer].is_recurrent))
                continue;
            if (data != NULL)
                *spec_checkpoint_parts_tensor(part, checkpoint, layer) =
                    (spec_tensor){own, rows, cols, data + at};
            at += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    }
    return at;
}

static void draw_all(spec_checkpoint *checkpoint)
{
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        for (int layer = 0; is_there(part, checkpoint) &&
                            layer < spec_checkpoint_parts_copies(part, &checkpoint->shape);
             layer++) {
            const spec_tensor *tensor = spec_checkpoint_parts_tensor_const(part, checkpoint, layer);
            if (tensor->data == NULL) continue;
            const ptrdiff_t at =
                (const unsigned char *)tensor->data - (const unsigned char *)checkpoint->owned;
            draw_tensor(tensor, (unsigned char *)checkpoint->owned + at, part, layer, checkpoint);
        }
    }
}

/* Reads the experts. Unless the spec says otherwise, a token takes one in eight experts, which
 * together are as wide as a network without experts. */
static int read_experts(spec_shape *shape, const spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(
        spec_settings_int(&shape->n_experts, settings, "experts", 0, 0, SPEC_EXPERTS_MAX, error));
    SPEC_TRY(spec_settings_int(&shape->n_active, settings, "active", 0, 0, SPEC_ACTIVE_MAX, error));
    SPEC_TRY(
        spec_settings_int(&shape->expert_dim, settings, "expert_ffn", 0, 0, SPEC_DIM_MAX, error));
    if (shape->n_experts == 0 && (shape->n_active > 0 || shape->expert_dim > 0))
        return spec_fail(error, GSL_EINVAL, "random: %s needs experts=",
                         shape->n_active > 0 ? "active=" : "expert_ffn=");
    if (shape->n_experts == 0) return GSL_SUCCESS;
    if (shape->n_active == 0) {
        const int eighth = shape->n_experts / 8;
        shape->n_active = eighth < 1 ? 1 : eighth > SPEC_ACTIVE_MAX ? SPEC_ACTIVE_MAX : eighth;
    }
    if (shape->expert_dim == 0) shape->expert_dim = shape->ffn_dim / shape->n_active;
    shape->ffn_dim = 0;
done:
    return status;
}

/* Reads the recurrent layers of a hybrid. They have as many heads of values as attention has of
 * queries, and as many of keys as attention has of keys. */
static int read_recurrence(spec_shape *shape, const spec_settings *settings, spec_error *error)
{
    int period;
    const int status =
        spec_settings_int(&period, settings, "attends", 1, 1, SPEC_LAYERS_MAX, error);
    if (status != GSL_SUCCESS || period == 1) return status;
    const int n = shape->n_layers, attending = n / period;
    if (attending == 0)
        return spec_fail(
            error, GSL_EINVAL,
            "random: attends=%d leaves none of %d layers that attends; give at most %d", period, n,
            n);
    shape->delta = (spec_delta_shape){.n_layers = n - attending,
                                      .n_key_heads = shape->n_kv_heads,
                                      .n_value_heads = shape->n_heads,
                                      .key_dim = shape->head_dim,
                                      .value_dim = shape->head_dim,
                                      .kernel = 4,
                                      .is_tiled = true};
    shape->gates_attention = true;
    shape->rotated = shape->head_dim / 8 * 2;
    if (shape->n_experts > 0) shape->ffn_dim = shape->expert_dim;
    return status;
}

static int read_shape(spec_shape *shape, spec_tensor_type *ret_type, const spec_settings *settings,
                      spec_error *error)
{
    int status = GSL_SUCCESS, type;
    *shape =
        (spec_shape){.norm_eps = 1e-5f, .rope.base = 10000.0, .rope_pairs = SPEC_ROPE_ADJACENT};
    SPEC_TRY(spec_settings_int(&shape->dim, settings, "dim", 768, 2, SPEC_DIM_MAX, error));
    SPEC_TRY(
        spec_settings_int(&shape->n_layers, settings, "layers", 12, 1, SPEC_LAYERS_MAX, error));
    SPEC_TRY(spec_settings_int(&shape->n_heads, settings, "heads", 12, 1, SPEC_DIM_MAX, error));
    SPEC_TRY(
        spec_settings_int(&shape->n_kv_heads, settings, "kv_heads", 0, 0, SPEC_DIM_MAX, error));
    SPEC_TRY(spec_settings_int(&shape->ffn_dim, settings, "ffn", 2048, 1, SPEC_DIM_MAX, error));
    SPEC_TRY(spec_settings_int(&shape->vocab, settings, "vocab", 32000, 2, SPEC_VOCAB_MAX, error));
    SPEC_TRY(
        spec_settings_int(&shape->context, settings, "context", 1024, 2, SPEC_CONTEXT_MAX, error));
    SPEC_TRY(spec_settings_choice(&type, settings, "type", SPEC_TENSOR_Q8_0, spec_tensor_type_names,
                                  error));
    if (shape->n_kv_heads == 0) shape->n_kv_heads = shape->n_heads;
    if (shape->dim % shape->n_heads != 0)
        return spec_fail(error, GSL_EINVAL, "random: heads=%d does not divide dim=%d",
                         shape->n_heads, shape->dim);
    shape->head_dim = shape->dim / shape->n_heads;
    *ret_type = (spec_tensor_type)type;
    SPEC_TRY(read_experts(shape, settings, error));
    SPEC_TRY(read_recurrence(shape, settings, error));
    SPEC_TRY(spec_checkpoint_check_shape(shape, "random", error));
    const int block = spec_tensor_block_weights(*ret_type),
              widths[] = {shape->dim, shape->ffn_dim, shape->expert_dim};
    for (int i = 0; i < 3; i++)
        if (widths[i] % block != 0)
            return spec_fail(error, GSL_EINVAL,
                             "random: type=%s needs dim and %s to be multiples of %d",
                             spec_tensor_type_names[type],
                             shape->n_experts > 0 ? "expert_ffn" : "ffn", block);
done:
    return status;
}

static const char *architecture_of(const spec_shape *shape)
{
    if (shape->delta.n_layers > 0) return shape->n_experts > 0 ? "qwen35moe" : "qwen35";
    return shape->n_experts > 0 ? "qwen3moe" : "llama";
}

int spec_checkpoint_load_random(spec_checkpoint *ret, spec_settings *settings,
                                spec_thread_pool *opt_pool, spec_error *error)
{
    int status = GSL_SUCCESS, period;
    spec_tensor_type type = SPEC_TENSOR_Q8_0;
    *ret = (spec_checkpoint){.free_owned = free,
                             .opt_pool = opt_pool,
                             .opt_draw = draw_all,
                             .begin_of_text = 1,
                             .adds_begin = true};
    SPEC_TRY(spec_settings_u64(&ret->seed, settings, "seed", 1, error));
    SPEC_TRY(read_shape(&ret->shape, &type, settings, error));
    const char *const name = architecture_of(&ret->shape);
    ret->opt_architecture = spec_architecture_find((spec_piece){name, strlen(name)});
    ret->shape.rope_pairs = ret->opt_architecture->rope_pairs;
    ret->layer = calloc((size_t)ret->shape.n_layers, sizeof *ret->layer);
    if (ret->layer == NULL) SPEC_TRY(out_of_memory(0, error));
    SPEC_TRY(spec_settings_int(&period, settings, "attends", 1, 1, SPEC_LAYERS_MAX, error));
    for (int i = 0; i < ret->shape.n_layers; i++)
        ret->layer[i].is_recurrent = (i + 1) % period != 0;
    const uint64_t bytes = lay_out(ret, NULL, type);
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    /* refused here, because malloc would overcommit */
    if (bytes > memory / 2) SPEC_TRY(out_of_memory(bytes, error));
    ret->owned = aligned_alloc(ALIGNMENT, (size_t)bytes);
    if (ret->owned == NULL) SPEC_TRY(out_of_memory(bytes, error));
    lay_out(ret, ret->owned, type);
done:
    if (status != GSL_SUCCESS) spec_checkpoint_free(ret);
    return status;
}
