/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/import_head.h"

#include "models/heads/head_file.h"
#include "models/import/head_layout.h"
#include "models/import/head_tokens.h"
#include "models/import/model_config.h"
#include "models/transformer/files/gguf_model.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

enum { CONVERTED_MAX = 3 * SPEC_HEAD_REACH_MAX };

/* What a loaded head owns. */
typedef struct {
    spec_tensor_folder folder;
    spec_model_config config;
    void *converted[CONVERTED_MAX]; /* vectors as F32, rows in another order */
    int n_converted;
} source;

typedef struct {
    spec_head *to;
    source *own;
    const char *path;
    const spec_checkpoint *target;
    json_t *root;
    char config_path[SPEC_TENSOR_FOLDER_PATH];
    spec_error *error;
} loader;

#define REFUSE(load, format, ...)                                                                  \
    spec_fail((load)->error, GSL_EINVAL, "%.300s: " format, (load)->path, __VA_ARGS__)

static void free_source(void *owned)
{
    source *own = owned;
    for (int i = 0; i < own->n_converted; i++) free(own->converted[i]);
    spec_tensor_folder_free(&own->folder);
    spec_model_config_free(&own->config);
    free(own);
}

static spec_json_values config_of(loader *load)
{
    return (spec_json_values){load->config_path, load->root, load->error};
}

/* ---- kind and shape -------------------------------------------------------------------------- */

static int read_medusa(loader *load)
{
    spec_head_shape *shape = &load->to->shape;
    const int blocks = spec_head_layout_blocks(&load->own->folder);
    shape->reach = spec_head_layout_depths(&load->own->folder);
    if (blocks != 1)
        return REFUSE(
            load,
            "its heads have %d residual blocks; only one is supported (Medusa applies one "
            "block that often)",
            blocks);
    if (shape->reach > SPEC_HEAD_REACH_MAX)
        return REFUSE(load, "has %d heads; at most %d are supported", shape->reach,
                      SPEC_HEAD_REACH_MAX);
    return GSL_SUCCESS;
}

/* Checks that a head's layer is a layer of Llama, whatever its target is. */
static int check_layer(loader *load)
{
    const spec_model_config *config = &load->own->config;
    const spec_architecture *of = config->architecture;
    if (of->has_experts || of->window_period > 0)
        return REFUSE(load, "its layer is one of %s, which is not supported in heads", of->name);
    if (config->cut_window > 0)
        return REFUSE(load, "its layer has a window of %d tokens, which is not supported in heads",
                      config->cut_window);
    if (config->shape.rope.yarn.factor != 0.0)
        return REFUSE(load, "its rope_scaling is of type '%s', which is not supported in heads",
                      "yarn");
    return GSL_SUCCESS;
}

/* Reads the width of the target's states; a head with its own embedding may be narrower. */
static int read_target_width(int *ret_width, loader *load, int width)
{
    const spec_json_values config = config_of(load);
    if (load->to->shape.kind != SPEC_HEAD_EAGLE3) {
        *ret_width = width;
        return GSL_SUCCESS;
    }
    return spec_json_values_integer(ret_width, &config, "target_hidden_size", width, 1,
                                    SPEC_DIM_MAX);
}

/* The layer has its own shape, epsilon and rotary embedding. */
static int read_layer(loader *load)
{
    int status = GSL_SUCCESS, width;
    spec_shape *shape = &load->to->shape.shape;
    spec_json_values config = config_of(load), layer;
    SPEC_TRY(spec_json_values_object(&layer, &config, "transformer_layer_config"));
    SPEC_TRY(spec_model_config_read(&load->own->config, layer.object != NULL ? &layer : &config));
    const spec_shape *its = &load->own->config.shape;
    SPEC_TRY(read_target_width(&width, load, its->dim));
    if (width != shape->dim || its->vocab != shape->vocab)
        return REFUSE(load,
                      "is for a target of width %d with %d tokens; this target's width is %d, with "
                      "%d tokens",
                      width, its->vocab, shape->dim, shape->vocab);
    if (width != its->dim) load->to->shape.target_dim = width;
    SPEC_TRY(check_layer(load));
    const int context = shape->context;
    *shape = *its;
    shape->context = context;
    shape->n_layers = 1;
done:
    return status;
}

/* Reads true or false at the top level, or in eagle_config. */
static int read_flag(bool *ret_value, loader *load, const char *key)
{
    int status = GSL_SUCCESS;
    spec_json_values config = config_of(load), eagle;
    SPEC_TRY(spec_json_values_object(&eagle, &config, "eagle_config"));
    const bool inside = eagle.object != NULL && json_object_get(eagle.object, key) != NULL;
    SPEC_TRY(spec_json_values_bool(ret_value, inside ? &eagle : &config, key, false));
done:
    return status;
}

static int read_norms(loader *load)
{
    int status = GSL_SUCCESS;
    bool before_fc, layernorms;
    bool *residual = &load->to->shape.norm_before_residual;
    SPEC_TRY(read_flag(&before_fc, load, "norm_before_fc"));
    SPEC_TRY(read_flag(&layernorms, load, "layernorms"));
    const bool is_eagle3 = load->to->shape.kind == SPEC_HEAD_EAGLE3;
    if (layernorms || (before_fc && !is_eagle3))
        return REFUSE(load, "'%s' is true, which is not supported",
                      before_fc ? "norm_before_fc" : "layernorms");
    load->to->shape.norm_before_fc = before_fc;
    if (load->to->shape.kind != SPEC_HEAD_EAGLE3) return GSL_SUCCESS;
    if (json_object_get(load->root, "speculators_model_type") != NULL &&
        json_object_get(load->root, "norm_before_residual") == NULL)
        return REFUSE(load, "its config.json has no '%s'; add it, true or false",
                      "norm_before_residual");
    SPEC_TRY(read_flag(residual, load, "norm_before_residual"));
done:
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void *convert(loader *load, size_t bytes)
{
    source *own = load->own;
    void *memory = own->n_converted < CONVERTED_MAX ? calloc(1, bytes) : NULL;
    if (memory != NULL) own->converted[own->n_converted++] = memory;
    return memory;
}

/* Reads a vector as F32. */
static int convert_vector(loader *load, spec_tensor *tensor)
{
    float *value = convert(load, (size_t)tensor->cols * sizeof *value);
    if (value == NULL) return spec_no_memory_for(load->error, load->path);
    if (tensor->data != NULL) spec_tensor_decode_row(value, tensor, 0);
    *tensor = (spec_tensor){SPEC_TENSOR_F32, 1, tensor->cols, value};
    return GSL_SUCCESS;
}

/* Reorders queries and keys that rotate halves to rotate as the target does. For eagle3 the writer
 * does this. */
static int convert_rotation(loader *load, spec_tensor *tensor)
{
    const size_t bytes = spec_tensor_row_bytes(tensor->type, tensor->cols);
    const int head_dim = load->to->shape.shape.head_dim;
    unsigned char *data = convert(load, (size_t)tensor->rows * bytes);
    if (data == NULL) return spec_no_memory_for(load->error, load->path);
    for (int row = 0; row < tensor->rows; row++)
        memcpy(data + (size_t)row * bytes,
               (const unsigned char *)tensor->data +
                   (size_t)spec_gguf_model_row_of_halves(row, head_dim) * bytes,
               bytes);
    tensor->data = data;
    return GSL_SUCCESS;
}

static int take(loader *load, spec_head_part part, int copy)
{
    int status = GSL_SUCCESS, rows, cols;
    char name[SPEC_HEAD_LAYOUT_NAME];
    spec_tensor *tensor = &load->to->tensor[part][copy];
    const bool turns = load->to->shape.kind == SPEC_HEAD_EAGLE &&
                       load->target->shape.rope_pairs == SPEC_ROPE_ADJACENT &&
                       (part == SPEC_HEAD_QUERY || part == SPEC_HEAD_KEY);
    spec_head_layout_name(name, part, copy, &load->own->folder);
    spec_head_part_shape(&rows, &cols, part, copy, &load->to->shape);
    /* EAGLE-1 may lack the bias of fc, which is then zero. */
    if (part == SPEC_HEAD_FC_BIAS && spec_tensor_folder_look(&load->own->folder, name) == NULL)
        *tensor = (spec_tensor){SPEC_TENSOR_F32, rows, cols, NULL};
    else
        SPEC_TRY(
            spec_tensor_folder_weights(tensor, &load->own->folder, name, rows, cols, load->error));
    if (spec_head_part_is_vector(part)) SPEC_TRY(convert_vector(load, tensor));
    if (turns) SPEC_TRY(convert_rotation(load, tensor));
done:
    return status;
}

/* Computes ||a - b||^2 / ||b||^2. */
static int difference(double *ret_share, loader *load, const spec_tensor *a, const spec_tensor *b)
{
    double squared = 0.0, error = 0.0;
    float *row = malloc(2 * (size_t)a->cols * sizeof *row);
    if (row == NULL) return spec_no_memory_for(load->error, load->path);
    float *const other = row + a->cols;
    for (int i = 0; i < a->rows; i++) {
        spec_tensor_decode_row(row, a, i);
        spec_tensor_decode_row(other, b, i);
        for (int j = 0; j < a->cols; j++) {
            const double off = (double)row[j] - (double)other[j];
            error += off * off;
            squared += (double)other[j] * (double)other[j];
        }
    }
    free(row);
    *ret_share = error / squared;
    return GSL_SUCCESS;
}

/* If the head has this matrix, checks that it is a copy of the target's; the copy is not kept. A
 * quantised target differs by the rounding of its type: below 0.01 for 4 bits. */
static int compare_copy(bool *ret_same, double *ret_share, loader *load, const char *name,
                        const spec_tensor *own)
{
    static const double most = 0.02;
    int status = GSL_SUCCESS;
    spec_tensor copy;
    *ret_same = true;
    *ret_share = 0.0;
    if (spec_tensor_folder_look(&load->own->folder, name) == NULL) return GSL_SUCCESS;
    SPEC_TRY(spec_tensor_folder_weights(&copy, &load->own->folder, name, own->rows, own->cols,
                                        load->error));
    SPEC_TRY(difference(ret_share, load, &copy, own));
    *ret_same = *ret_share <= most;
done:
    return status;
}

static int check_copy(loader *load, const char *name, const spec_tensor *own)
{
    int status = GSL_SUCCESS;
    double share;
    bool same;
    SPEC_TRY(compare_copy(&same, &share, load, name, own));
    if (!same)
        return REFUSE(
            load,
            "its '%s' is not the target's (relative square of the difference %.2g): the "
            "head is for another target, or it trained this matrix, which is not supported",
            name, share);
done:
    return status;
}

/* Reads the embedding. An eagle3 keeps its own if it was trained, or if its width is not the
 * target's. */
static int read_embedding(loader *load)
{
    int status = GSL_SUCCESS;
    spec_head_shape *shape = &load->to->shape;
    double share;
    bool same = false;
    if (shape->kind != SPEC_HEAD_EAGLE3)
        return check_copy(load, "embed_tokens.weight", &load->target->embedding);
    if (shape->target_dim == 0)
        SPEC_TRY(
            compare_copy(&same, &share, load, "embed_tokens.weight", &load->target->embedding));
    shape->own_embedding = !same;
done:
    return status;
}

static int take_tensors(loader *load)
{
    int status = GSL_SUCCESS;
    spec_head_shape *shape = &load->to->shape;
    SPEC_TRY(read_embedding(load));
    for (int part = 0; part < SPEC_HEAD_PARTS; part++)
        for (int copy = 0; copy < spec_head_copies((spec_head_part)part, shape); copy++)
            SPEC_TRY(take(load, (spec_head_part)part, copy));
    if (shape->kind == SPEC_HEAD_EAGLE)
        SPEC_TRY(check_copy(load, "lm_head.weight", &load->target->output));
    const char *left = spec_tensor_folder_left(&load->own->folder);
    if (left != NULL)
        return REFUSE(load, "tensor '%.80s' is not one of a head of kind %s", left,
                      spec_head_kind_names[shape->kind]);
done:
    return status;
}

/* ---- the whole folder ------------------------------------------------------------------------ */

static int read_kind(loader *load, spec_head_taps *ret_taps, const int *opt_tap)
{
    int status = GSL_SUCCESS;
    spec_head_shape *shape = &load->to->shape;
    const int kind = spec_head_layout_kind(&load->own->folder);
    if (kind < 0)
        return REFUSE(load,
                      "its tensors are not those of a draft head (%s); a model is imported "
                      "without --target",
                      "medusa, eagle, eagle3");
    shape->kind = (spec_head_kind)kind;
    if (opt_tap != NULL && kind != SPEC_HEAD_EAGLE3)
        return REFUSE(load, "--taps: a head of kind %s reads the last hidden state",
                      spec_head_kind_names[kind]);
    shape->shape = load->target->shape;
    shape->shape.n_layers = shape->shape.n_heads = shape->shape.n_kv_heads = 0;
    shape->shape.head_dim = shape->shape.ffn_dim = 0;
    shape->draft_vocab = shape->shape.vocab;
    shape->n_taps = 1;
    shape->tap[0] = load->target->shape.n_layers;
    *ret_taps = SPEC_HEAD_TAPS_FROM_NONE;
    if (kind == SPEC_HEAD_MEDUSA) return read_medusa(load);
    SPEC_TRY(spec_json_values_load(&load->root, load->config_path, false, load->error));
    SPEC_TRY(read_layer(load));
    SPEC_TRY(read_norms(load));
    if (kind != SPEC_HEAD_EAGLE3) return GSL_SUCCESS;
    shape->n_taps = SPEC_HEAD_TAPS_MAX;
    const spec_json_values config = config_of(load);
    SPEC_TRY(
        spec_head_taps_read(shape->tap, ret_taps, &config, load->target->shape.n_layers, opt_tap));
    SPEC_TRY(spec_head_tokens_read(load->to, &load->own->folder, load->error));
done:
    return status;
}

int spec_import_head_open(spec_head *ret, spec_head_taps *ret_taps, const char *path,
                          const spec_checkpoint *target, const int *opt_tap, spec_error *error)
{
    int status = GSL_SUCCESS;
    loader load = {.to = ret, .path = path, .target = target, .error = error};
    *ret = (spec_head){0};
    load.own = calloc(1, sizeof *load.own);
    if (load.own == NULL) return spec_no_memory_for(error, path);
    *ret = (spec_head){.owned = load.own, .free_owned = free_source};
    SPEC_TRY(spec_tensor_folder_file(load.config_path, path, "config.json", error));
    SPEC_TRY(spec_tensor_folder_init(&load.own->folder, path, error));
    SPEC_TRY(read_kind(&load, ret_taps, opt_tap));
    SPEC_TRY(take_tensors(&load));
    if (ret->shape.kind == SPEC_HEAD_EAGLE) {
        ret->shape.shape.rope_pairs = target->shape.rope_pairs;
        ret->shape.normed_features = true;
    }
    ret->fingerprint = spec_head_file_fingerprint(target);
done:
    json_decref(load.root);
    if (status != GSL_SUCCESS) spec_head_free(ret);
    return status;
}
