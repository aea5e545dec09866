/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/import_model.h"

#include "models/import/chat_template.h"
#include "models/import/head_layout.h"
#include "models/transformer/files/architecture.h"
#include "models/transformer/tokenizer/end_spellings.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* Names of tensors; in a layer they follow "layers.7.". Norms around the feed-forward network have
 * other names in models with norms after both branches, and so do routers with biases. */
static const char *const names[SPEC_PARTS] = {
    [SPEC_PART_EMBEDDING] = "embed_tokens.weight",
    [SPEC_PART_FINAL_NORM] = "norm.weight",
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
    [SPEC_PART_QUERY_NORM] = "self_attn.q_norm.weight",
    [SPEC_PART_KEY_NORM] = "self_attn.k_norm.weight",
    [SPEC_PART_SINKS] = "self_attn.sinks",
    [SPEC_PART_ATTENTION_OUTPUT_BIAS] = "self_attn.o_proj.bias",
    [SPEC_PART_ATTENTION_POST_NORM] = "post_attention_layernorm.weight",
    [SPEC_PART_FFN_POST_NORM] = "post_feedforward_layernorm.weight",
    [SPEC_PART_ROUTER] = "mlp.gate.weight",
    [SPEC_PART_SHARED_GATE] = "mlp.shared_expert_gate.weight",
    [SPEC_PART_ROUTER_BIAS] = "mlp.router.bias",
};

/* How the names of tensors begin: in the text model, its output, and the other parts of the
 * folder. */
static const struct {
    const char *text, *output, *others[3]; /* NULL: there are fewer */
} places[] = {
    {"model.", "", {NULL}},
    {"language_model.model.", "language_model.", {"vision_tower.", "multi_modal_projector.", NULL}},
    {"model.language_model.",
     "",
     {"model.vision_tower.", "model.multi_modal_projector.", "model.visual."}},
    {"mtp.", "", {NULL}},
};
enum { DRAFTS = sizeof places / sizeof places[0] - 1, NAME_SIZE = 96 };

static const char *name_of(char name[NAME_SIZE], spec_part part, int layer,
                           const spec_import_model *model, int place)
{
    static const char *const shared[] = {"mlp.shared_expert.gate_proj.weight",
                                         "mlp.shared_expert.up_proj.weight",
                                         "mlp.shared_expert.down_proj.weight"};
    const spec_architecture *of = model->config.architecture;
    const char *rest = names[part];
    if (part == SPEC_PART_FFN_NORM && spec_architecture_must(of, SPEC_PART_ATTENTION_POST_NORM))
        rest = "pre_feedforward_layernorm.weight";
    if (part == SPEC_PART_ROUTER && spec_architecture_must(of, SPEC_PART_ROUTER_BIAS))
        rest = "mlp.router.weight";
    if (of->has_experts && part >= SPEC_PART_GATE && part <= SPEC_PART_DOWN)
        rest = shared[part - SPEC_PART_GATE];
    if (part == SPEC_PART_OUTPUT)
        snprintf(name, NAME_SIZE, "%s%s", places[place].output, rest);
    else if (part < SPEC_PART_ATTENTION_NORM)
        snprintf(name, NAME_SIZE, "%s%s", places[place].text, rest);
    else
        snprintf(name, NAME_SIZE, "%slayers.%d.%s", places[place].text, layer, rest);
    return name;
}

static bool is_bias(spec_part part)
{
    return part == SPEC_PART_QUERY_BIAS || part == SPEC_PART_KEY_BIAS ||
           part == SPEC_PART_VALUE_BIAS;
}

/* Returns whether a part is a norm's gain, rather than a bias or sink. */
static bool is_gain(spec_part part)
{
    switch (part) {
    case SPEC_PART_FINAL_NORM:
    case SPEC_PART_ATTENTION_NORM:
    case SPEC_PART_FFN_NORM:
    case SPEC_PART_QUERY_NORM:
    case SPEC_PART_KEY_NORM:
    case SPEC_PART_ATTENTION_POST_NORM:
    case SPEC_PART_FFN_POST_NORM: return true;
    default: return false;
    }
}

/* ---- shape ----------------------------------------------------------------------------------- */

static int read_config(spec_import_model *model, spec_error *error)
{
    int status = GSL_SUCCESS;
    char path[SPEC_TENSOR_FOLDER_PATH];
    json_t *root = NULL;
    SPEC_TRY(spec_tensor_folder_file(path, model->folder.path, "config.json", error));
    SPEC_TRY(spec_json_values_load(&root, path, false, error));
    SPEC_TRY(spec_model_config_read(&model->config, &(spec_json_values){path, root, error}));
    model->checkpoint.shape = model->config.shape;
    model->checkpoint.opt_architecture = model->config.architecture;
done:
    json_decref(root);
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Returns the entry of `places` for which the folder has an embedding, or else the first entry. */
static int find_place(const spec_import_model *model)
{
    char name[NAME_SIZE];
    for (int i = 0; i < DRAFTS; i++)
        if (spec_tensor_folder_look(&model->folder,
                                    name_of(name, SPEC_PART_EMBEDDING, 0, model, i)) != NULL)
            return i;
    return 0;
}

/* Skips tensors that do not belong to the text model: the copy of the embedding in a tied model,
 * the rotary angles in older files, and the image part of models that also read images. */
static void pass_over(spec_import_model *model, int place)
{
    char name[NAME_SIZE];
    if (model->config.is_tied)
        (void)spec_tensor_folder_find(&model->folder,
                                      name_of(name, SPEC_PART_OUTPUT, 0, model, place));
    for (int i = 0; i < model->config.shape.n_layers; i++) {
        snprintf(name, sizeof name, "%slayers.%d.self_attn.rotary_emb.inv_freq", places[place].text,
                 i);
        (void)spec_tensor_folder_find(&model->folder, name);
    }
    for (int i = 0; i < 3 && places[place].others[i] != NULL; i++)
        model->n_passed_over += spec_tensor_folder_pass(&model->folder, places[place].others[i]);
}

/* Returns whether a part is looked up by its name. */
static bool is_named(const spec_import_model *model, spec_part part)
{
    const spec_model_config *config = &model->config;
    return names[part] != NULL && spec_architecture_may(config->architecture, part) &&
           (!is_bias(part) || config->has_biases) && (part != SPEC_PART_OUTPUT || !config->is_tied);
}

static int take_named(spec_import_model *model, int place, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_checkpoint *to = &model->checkpoint;
    const spec_model_config *config = &model->config;
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        if (!is_named(model, part)) continue;
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &config->shape); layer++) {
            char name[NAME_SIZE];
            int rows, cols;
            spec_tensor *tensor = spec_checkpoint_parts_tensor(part, to, layer);
            if (!spec_checkpoint_parts_in_layer(part, to->layer[layer].is_recurrent)) continue;
            spec_checkpoint_parts_shape(&rows, &cols, part, &config->shape);
            SPEC_TRY(spec_tensor_folder_weights(tensor, &model->folder,
                                                name_of(name, part, layer, model, place), rows,
                                                cols, error));
        }
    }
    if (config->is_tied) to->output = to->embedding;
    for (int layer = 0; layer < config->shape.n_layers; layer++)
        to->layer[layer].has_window = config->has_window[layer];
done:
    return status;
}

static void raise_gain(spec_tensor *tensor, float **gain)
{
    const int cols = tensor->cols;
    spec_tensor_decode_row(*gain, tensor, 0);
    for (int k = 0; k < cols; k++) (*gain)[k] += 1.0f;
    *tensor = (spec_tensor){SPEC_TENSOR_F32, 1, cols, *gain};
    *gain += cols;
}

/* Copies the gains that are stored minus 1, and adds 1. All of them are in the folder, so the
 * copies are no larger than its files. */
static int raise_gains(spec_import_model *model, spec_error *error)
{
    size_t n = 0;
    spec_checkpoint *to = &model->checkpoint;
    for (int pass = 0; pass < 2; pass++) {
        float *gain = model->gain;
        for (int i = 0; i < SPEC_PARTS; i++) {
            const spec_part part = (spec_part)i;
            if (!is_gain(part) || !is_named(model, part)) continue;
            for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &to->shape); layer++) {
                spec_tensor *tensor = spec_checkpoint_parts_tensor(part, to, layer);
                const int cols = tensor->cols;
                if (tensor->data == NULL) continue;
                n += pass == 0 ? (size_t)cols : 0;
                if (pass == 0) continue;
                raise_gain(tensor, &gain);
            }
        }
        if (pass == 0 && (model->gain = malloc(n * sizeof *model->gain)) == NULL)
            return spec_no_memory_for(error, model->folder.path);
    }
    return GSL_SUCCESS;
}

/* Takes the draft block of a hybrid, if the folder has one: an attention layer, the projection of
 * its input, and norms, which are stored minus 1. */
static int take_drafts(spec_import_model *model, spec_error *error)
{
    static const char first[] = "mtp.fc.weight";
    int status = GSL_SUCCESS;
    spec_checkpoint *to = &model->checkpoint;
    const spec_shape *shape = &to->shape;
    const int dim = shape->dim;
    if (spec_tensor_folder_look(&model->folder, first) == NULL) return GSL_SUCCESS;
    spec_checkpoint_nextn *block = to->nextn = calloc(1, sizeof *block);
    float *gain = model->draft_gain =
        malloc((5 * (size_t)dim + 2 * (size_t)shape->head_dim) * sizeof *gain);
    if (block == NULL || gain == NULL) SPEC_TRY(spec_no_memory_for(error, model->folder.path));
    to->n_nextn = 1;
    const struct {
        const char *name;
        spec_tensor *tensor;
    } norms[] = {{"mtp.pre_fc_norm_embedding.weight", &block->embedding_norm},
                 {"mtp.pre_fc_norm_hidden.weight", &block->feature_norm},
                 {"mtp.norm.weight", &block->final_norm}};
    SPEC_TRY(
        spec_tensor_folder_weights(&block->projection, &model->folder, first, dim, 2 * dim, error));
    for (int i = 0; i < 3; i++) {
        SPEC_TRY(spec_tensor_folder_weights(norms[i].tensor, &model->folder, norms[i].name, 1, dim,
                                            error));
        raise_gain(norms[i].tensor, &gain);
    }
    spec_checkpoint alone = *to;
    alone.shape.n_layers = 1;
    alone.layer = &block->layer;
    for (int i = SPEC_PART_ATTENTION_NORM; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        char name[NAME_SIZE];
        int rows, cols;
        if (!is_named(model, part) || !spec_checkpoint_parts_in_layer(part, false) ||
            spec_checkpoint_parts_copies(part, &alone.shape) == 0)
            continue;
        spec_tensor *tensor = spec_checkpoint_parts_tensor(part, &alone, 0);
        spec_checkpoint_parts_shape(&rows, &cols, part, shape);
        SPEC_TRY(spec_tensor_folder_weights(
            tensor, &model->folder, name_of(name, part, 0, model, DRAFTS), rows, cols, error));
        if (is_gain(part)) raise_gain(tensor, &gain);
    }
    if (model->config.architecture->has_experts)
        SPEC_TRY(spec_import_experts_init(&model->draft_experts, &alone, &model->folder,
                                          "mtp.layers.", false, error));
done:
    return status;
}

static int take_tensors(spec_import_model *model, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_checkpoint *to = &model->checkpoint;
    const spec_model_config *config = &model->config;
    const int place = find_place(model);
    char layers[NAME_SIZE];
    to->layer = calloc((size_t)config->shape.n_layers, sizeof *to->layer);
    if (to->layer == NULL) SPEC_TRY(spec_no_memory_for(error, model->folder.path));
    for (int i = 0; i < config->shape.n_layers; i++)
        to->layer[i].is_recurrent = config->is_recurrent[i];
    SPEC_TRY(take_named(model, place, error));
    if (config->gains_minus_one) SPEC_TRY(raise_gains(model, error));
    snprintf(layers, sizeof layers, "%slayers.", places[place].text);
    if (config->architecture->has_delta)
        SPEC_TRY(spec_import_delta_init(&model->delta, to, &model->folder, layers, error));
    if (config->architecture->has_delta) SPEC_TRY(take_drafts(model, error));
    if (config->architecture->has_experts)
        SPEC_TRY(spec_import_experts_init(
            &model->experts, to, &model->folder, layers,
            spec_architecture_must(config->architecture, SPEC_PART_EXPERT_GATE_BIAS), error));
    pass_over(model, place);
    const char *left = spec_tensor_folder_left(&model->folder);
    if (left != NULL)
        return spec_fail(error, GSL_EINVAL, "%.300s: tensor '%.80s' is not one of such a model's",
                         model->folder.path, left);
done:
    return status;
}

/* ---- vocabulary ------------------------------------------------------------------------------ */

/* Reads the tokens that end a text, the end of text first: from tokenizer_config.json, from
 * config.json and generation_config.json, and by spelling. */
static int read_ends(spec_import_model *model, spec_error *error)
{
    int status = GSL_SUCCESS;
    char path[SPEC_TENSOR_FOLDER_PATH];
    json_t *root = NULL;
    spec_checkpoint *to = &model->checkpoint;
    spec_text_ends *ends = &to->ends;
    const int vocab = to->shape.vocab;
    SPEC_TRY(spec_tensor_folder_file(path, model->folder.path, "generation_config.json", error));
    SPEC_TRY(spec_json_values_load(&root, path, true, error));
    if (model->vocabulary.data.vocab > 0) spec_text_ends_add(ends, model->vocabulary.end_of_text);
    for (int i = 0; i < model->config.ends.n; i++)
        spec_text_ends_add(ends, model->config.ends.token[i]);
    if (root != NULL)
        SPEC_TRY(spec_model_config_ends(ends, &(spec_json_values){path, root, error}, vocab));
    if (ends->n > 0) spec_end_spellings_find(ends, &model->vocabulary.data);
done:
    json_decref(root);
    return status;
}

/* The begin of text comes from tokenizer_config.json, or else from config.json. */
static int read_vocabulary(spec_import_model *model, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_checkpoint *to = &model->checkpoint;
    const spec_model_config *config = &model->config;
    spec_folder_vocabulary *v = &model->vocabulary;
    SPEC_TRY(spec_folder_vocabulary_load(v, model->folder.path, to->shape.vocab, error));
    const bool has = v->data.vocab > 0;
    const int begin = has && v->begin_of_text >= 0 ? v->begin_of_text : config->begin_of_text;
    SPEC_TRY(read_ends(model, error));
    to->begin_of_text = begin >= 0 ? begin : to->ends.n > 0 ? to->ends.token[0] : 0;
    to->adds_begin = begin >= 0 && (has ? v->adds_begin : config->begins);
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
    SPEC_TRY(spec_chat_template_read(&ret->chat_template, path, ret->vocabulary.config, error));
done:
    if (status != GSL_SUCCESS) spec_import_model_free(ret);
    return status;
}

void spec_import_model_free(spec_import_model *model)
{
    spec_checkpoint_free(&model->checkpoint);
    spec_tensor_folder_free(&model->folder);
    spec_model_config_free(&model->config);
    spec_import_delta_free(&model->delta);
    spec_import_experts_free(&model->experts);
    spec_import_experts_free(&model->draft_experts);
    free(model->draft_gain);
    free(model->gain);
    free(model->chat_template);
    spec_folder_vocabulary_free(&model->vocabulary);
    *model = (spec_import_model){0};
}

/* Returns the name of the folder, which is usually that of the published model; NULL if the path
 * ends with a dot or has only slashes. `name` is the memory for it. */
static const char *name_of_folder(char name[NAME_SIZE], const char *path)
{
    size_t end = strlen(path), begin;
    while (end > 0 && path[end - 1] == '/') end--;
    for (begin = end; begin > 0 && path[begin - 1] != '/';) begin--;
    if (begin == end || path[end - 1] == '.') return NULL;
    snprintf(name, NAME_SIZE, "%.*s", (int)(end - begin), path + begin);
    return name;
}

/* Returns the rows of an expert of a layer, or of the draft block after the layers. */
static const void *rows_of_expert(void *self, spec_part part, int layer, int expert)
{
    spec_import_model *model = self;
    const int n = model->config.shape.n_layers;
    return layer < n ? spec_import_experts_rows(&model->experts, part, layer, expert)
                     : spec_import_experts_rows(&model->draft_experts, part, layer - n, expert);
}

int spec_import_model_write(int *ret_kept, const spec_import_model *model, const char *path,
                            const spec_gguf_model_watch *opt_watch, spec_error *error)
{
    const spec_gguf_model_vocabulary vocabulary = {.opt_data = &model->vocabulary.data};
    spec_gguf_model_watch watch = {0};
    char name[NAME_SIZE];
    if (opt_watch != NULL) watch = *opt_watch;
    watch.opt_name = name_of_folder(name, model->folder.path);
    watch.opt_chat_template = model->chat_template;
    if (model->config.architecture->has_experts) {
        watch.opt_experts = rows_of_expert;
        watch.experts = (void *)(uintptr_t)model;
    }
    if (model->config.architecture->has_delta) {
        watch.opt_recurrent = spec_import_delta_row;
        watch.recurrent = (void *)(uintptr_t)&model->delta;
    }
    return spec_gguf_model_write(ret_kept, &model->checkpoint, &vocabulary, path, &watch, error);
}
