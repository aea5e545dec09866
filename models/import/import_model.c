/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/import_model.h"

#include "models/import/head_layout.h"
#include "models/transformer/files/checkpoint_parts.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* Names of tensors; those of a layer follow "model.layers.7.". */
static const char *const names[SPEC_PARTS] = {
    [SPEC_PART_EMBEDDING] = "model.embed_tokens.weight",
    [SPEC_PART_FINAL_NORM] = "model.norm.weight",
    [SPEC_PART_OUTPUT] = "lm_head.weight",
    [SPEC_PART_ATTENTION_NORM] = "input_layernorm.weight",
    [SPEC_PART_QUERY] = "self_attn.q_proj.weight",
    [SPEC_PART_KEY] = "self_attn.k_proj.weight",
    [SPEC_PART_VALUE] = "self_attn.v_proj.weight",
    [SPEC_PART_QUERY_BIAS] = "self_attn.q_proj.bias",
    [SPEC_PART_KEY_BIAS] = "self_attn.k_proj.bias",
    [SPEC_PART_VALUE_BIAS] = "self_attn.v_proj.bias",
    [SPEC_PART_ATTENTION_OUTPUT] = "self_attn.o_proj.weight",
    [SPEC_PART_FFN_NORM] = "post_attention_layernorm.weight",
    [SPEC_PART_GATE] = "mlp.gate_proj.weight",
    [SPEC_PART_UP] = "mlp.up_proj.weight",
    [SPEC_PART_DOWN] = "mlp.down_proj.weight",
};

enum { NAME_SIZE = 64 };

static const char *name_of(char name[NAME_SIZE], spec_part part, int layer)
{
    if (part < SPEC_PART_ATTENTION_NORM) return names[part];
    snprintf(name, NAME_SIZE, "model.layers.%d.%s", layer, names[part]);
    return name;
}

static bool is_bias(spec_part part)
{
    return part == SPEC_PART_QUERY_BIAS || part == SPEC_PART_KEY_BIAS ||
           part == SPEC_PART_VALUE_BIAS;
}

static int read_config(spec_import_model *model, spec_error *error)
{
    int status = GSL_SUCCESS;
    char path[SPEC_TENSOR_FOLDER_PATH];
    json_t *root = NULL;
    SPEC_TRY(spec_tensor_folder_file(path, model->folder.path, "config.json", error));
    SPEC_TRY(spec_json_values_load(&root, path, false, error));
    SPEC_TRY(spec_model_config_read(&model->config, &(spec_json_values){path, root, error}));
    model->checkpoint.shape = model->config.shape;
done:
    json_decref(root);
    return status;
}

/* A tied model may have a copy of its embedding; older files have the angles of the rotary
 * embedding. */
static void pass_over(spec_import_model *model)
{
    char name[NAME_SIZE];
    if (model->config.is_tied)
        (void)spec_tensor_folder_find(&model->folder, names[SPEC_PART_OUTPUT]);
    for (int i = 0; i < model->config.shape.n_layers; i++) {
        snprintf(name, sizeof name, "model.layers.%d.self_attn.rotary_emb.inv_freq", i);
        (void)spec_tensor_folder_find(&model->folder, name);
    }
}

static int take_tensors(spec_import_model *model, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_checkpoint *to = &model->checkpoint;
    const spec_model_config *config = &model->config;
    to->layer = calloc((size_t)config->shape.n_layers, sizeof *to->layer);
    if (to->layer == NULL) SPEC_TRY(spec_no_memory_for(error, model->folder.path));
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        if (names[part] == NULL || (is_bias(part) && !config->is_qwen2) ||
            (part == SPEC_PART_OUTPUT && config->is_tied))
            continue;
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &config->shape); layer++) {
            char name[NAME_SIZE];
            int rows, cols;
            spec_checkpoint_parts_shape(&rows, &cols, part, &config->shape);
            SPEC_TRY(spec_tensor_folder_weights(spec_checkpoint_parts_tensor(part, to, layer),
                                                &model->folder, name_of(name, part, layer), rows,
                                                cols, error));
        }
    }
    if (config->is_tied) to->output = to->embedding;
    pass_over(model);
    const char *left = spec_tensor_folder_left(&model->folder);
    if (left != NULL)
        return spec_fail(error, GSL_EINVAL, "%.300s: tensor '%.80s' is not one of such a model's",
                         model->folder.path, left);
done:
    return status;
}

/* Begin and end come from tokenizer_config.json, or else from config.json. */
static int read_vocabulary(spec_import_model *model, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_checkpoint *to = &model->checkpoint;
    const spec_model_config *config = &model->config;
    spec_folder_vocabulary *v = &model->vocabulary;
    SPEC_TRY(spec_folder_vocabulary_load(v, model->folder.path, to->shape.vocab, error));
    const bool has = v->data.vocab > 0;
    const int begin = has && v->begin_of_text >= 0 ? v->begin_of_text : config->begin_of_text;
    to->end_of_text = has && v->end_of_text >= 0 ? v->end_of_text : config->end_of_text;
    to->begin_of_text = begin >= 0 ? begin : to->end_of_text >= 0 ? to->end_of_text : 0;
    to->adds_begin = has ? v->adds_begin : begin >= 0 && !config->is_qwen2;
    if (has) SPEC_TRY(spec_checkpoint_tokenizer(to, &v->data, model->folder.path, error));
done:
    return status;
}

int spec_import_model_open(spec_import_model *ret, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret = (spec_import_model){.folder.path = path};
    SPEC_TRY(spec_tensor_folder_init(&ret->folder, path, error));
    const int kind = spec_head_layout_kind(&ret->folder);
    if (kind >= 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: is a draft head (%s): name the model that it is for, --target "
                           "gguf:model.gguf",
                           path, spec_head_kind_names[kind]));
    SPEC_TRY(read_config(ret, error));
    SPEC_TRY(take_tensors(ret, error));
    SPEC_TRY(read_vocabulary(ret, error));
done:
    if (status != GSL_SUCCESS) spec_import_model_free(ret);
    return status;
}

void spec_import_model_free(spec_import_model *model)
{
    spec_checkpoint_free(&model->checkpoint);
    spec_tensor_folder_free(&model->folder);
    spec_model_config_free(&model->config);
    spec_folder_vocabulary_free(&model->vocabulary);
    *model = (spec_import_model){0};
}

int spec_import_model_write(int *ret_kept, const spec_import_model *model, const char *path,
                            const spec_gguf_model_watch *opt_watch, spec_error *error)
{
    const spec_gguf_model_vocabulary vocabulary = {.opt_data = &model->vocabulary.data};
    return spec_gguf_model_write(ret_kept, &model->checkpoint, &vocabulary, path, opt_watch, error);
}
