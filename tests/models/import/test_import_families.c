/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder of each family becomes a file whose checkpoint has every tensor in its place. */
#include "models/import/import_model.h"

#include "models/transformer/files/architecture.h"
#include "tests/support/folder.h"
#include "tests/support/hf_folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

enum {
    DIM = 32,
    LAYERS = 3,
    HEADS = 4,
    KV_HEADS = 2,
    HEAD = 16,
    FFN = 32,
    VOCAB = 40,
    EXPERTS = 3
};

/* The value of a tensor at i, exact in BF16: it depends on the name. */
static float value(const char *name, int i)
{
    unsigned hash = 2166136261u;
    for (const char *c = name; *c != '\0'; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    hash = (hash ^ (unsigned)i) * 2654435761u;
    return ((float)(hash >> 25) - 64.0f) / 128.0f;
}

static void put(spec_hf_file *file, const char *name, int rows, int cols)
{
    const int size[] = {rows, cols};
    const int n = rows * cols;
    FREED float *values = malloc((size_t)n * sizeof *values);
    FREED void *data = malloc((size_t)n * 2);
    assert_true(values != NULL && data != NULL);
    for (int i = 0; i < n; i++) values[i] = value(name, i);
    spec_tensor_row_write(data, SPEC_TENSOR_BF16, values, n);
    spec_hf_folder_put(file, name, "BF16", rows == 1 ? 1 : 2, rows == 1 ? &size[1] : size, data,
                       (size_t)n * 2);
}

typedef struct {
    spec_part part;
    const char *name; /* follows "layers.1." if the tensor is one of a layer */
} named;

#define COMMON                                                                                     \
    {SPEC_PART_EMBEDDING, "embed_tokens.weight"}, {SPEC_PART_FINAL_NORM, "norm.weight"},           \
        {SPEC_PART_ATTENTION_NORM, "input_layernorm.weight"},                                      \
        {SPEC_PART_QUERY, "self_attn.q_proj.weight"}, {SPEC_PART_KEY, "self_attn.k_proj.weight"},  \
        {SPEC_PART_VALUE, "self_attn.v_proj.weight"},                                              \
    {                                                                                              \
        SPEC_PART_ATTENTION_OUTPUT, "self_attn.o_proj.weight"                                      \
    }
#define DENSE                                                                                      \
    {SPEC_PART_GATE, "mlp.gate_proj.weight"}, {SPEC_PART_UP, "mlp.up_proj.weight"},                \
    {                                                                                              \
        SPEC_PART_DOWN, "mlp.down_proj.weight"                                                     \
    }
#define HEAD_NORMS                                                                                 \
    {SPEC_PART_QUERY_NORM, "self_attn.q_norm.weight"},                                             \
    {                                                                                              \
        SPEC_PART_KEY_NORM, "self_attn.k_norm.weight"                                              \
    }

static const named qwen3[] = {COMMON,
                              DENSE,
                              HEAD_NORMS,
                              {SPEC_PART_OUTPUT, "lm_head.weight"},
                              {SPEC_PART_FFN_NORM, "post_attention_layernorm.weight"},
                              {SPEC_PARTS, NULL}},
                   qwen3moe[] = {COMMON,
                                 HEAD_NORMS,
                                 {SPEC_PART_OUTPUT, "lm_head.weight"},
                                 {SPEC_PART_FFN_NORM, "post_attention_layernorm.weight"},
                                 {SPEC_PART_ROUTER, "mlp.gate.weight"},
                                 {SPEC_PARTS, NULL}},
                   gemma3[] = {COMMON,
                               DENSE,
                               HEAD_NORMS,
                               {SPEC_PART_FFN_NORM, "pre_feedforward_layernorm.weight"},
                               {SPEC_PART_ATTENTION_POST_NORM, "post_attention_layernorm.weight"},
                               {SPEC_PART_FFN_POST_NORM, "post_feedforward_layernorm.weight"},
                               {SPEC_PARTS, NULL}},
                   gpt_oss[] = {COMMON,
                                {SPEC_PART_OUTPUT, "lm_head.weight"},
                                {SPEC_PART_FFN_NORM, "post_attention_layernorm.weight"},
                                {SPEC_PART_QUERY_BIAS, "self_attn.q_proj.bias"},
                                {SPEC_PART_KEY_BIAS, "self_attn.k_proj.bias"},
                                {SPEC_PART_VALUE_BIAS, "self_attn.v_proj.bias"},
                                {SPEC_PART_ATTENTION_OUTPUT_BIAS, "self_attn.o_proj.bias"},
                                {SPEC_PART_SINKS, "self_attn.sinks"},
                                {SPEC_PART_ROUTER, "mlp.router.weight"},
                                {SPEC_PART_ROUTER_BIAS, "mlp.router.bias"},
                                {SPEC_PARTS, NULL}};

typedef struct {
    const char *architecture, *config;  /* members of config.json after the common ones */
    const char *before, *before_output; /* beginnings of names */
    const named *names;
    bool adds_one, is_nested;
    const char *experts; /* "separate", "transposed", or NULL */
} family;

static const family families[] = {
    {"qwen3", "'model_type':'qwen3'", "model.", "", qwen3, false, false, NULL},
    {"qwen3moe",
     "'model_type':'qwen3_moe','norm_topk_prob':true,'num_experts':3,'num_experts_per_tok':2,"
     "'moe_intermediate_size':32",
     "model.", "", qwen3moe, false, false, "separate"},
    {"gemma3", "'model_type':'gemma3_text','sliding_window':4,'sliding_window_pattern':2", "model.",
     "", gemma3, true, false, NULL},
    {"gemma3", "'model_type':'gemma3_text','sliding_window':4,'sliding_window_pattern':2",
     "language_model.model.", "language_model.", gemma3, true, true, NULL},
    {"gemma3", "'model_type':'gemma3_text','sliding_window':4,'sliding_window_pattern':2",
     "model.language_model.", "", gemma3, true, true, NULL},
    {"gpt-oss",
     "'model_type':'gpt_oss','num_local_experts':3,'num_experts_per_tok':2,'sliding_window':4,"
     "'rope_scaling':{'rope_type':'yarn','factor':4.0,'original_max_position_embeddings':16,"
     "'truncate':false}",
     "model.", "", gpt_oss, false, false, "transposed"},
};

/* ---- folders --------------------------------------------------------------------------------- */

static const char *name_of(char name[120], const family *of, const named *one, int layer)
{
    if (one->part == SPEC_PART_OUTPUT)
        snprintf(name, 120, "%s%s", of->before_output, one->name);
    else if (one->part < SPEC_PART_ATTENTION_NORM)
        snprintf(name, 120, "%s%s", of->before, one->name);
    else
        snprintf(name, 120, "%slayers.%d.%s", of->before, layer, one->name);
    return name;
}

static void put_experts(spec_hf_file *file, const family *of, int layer)
{
    static const char *const names[] = {"gate_proj", "up_proj", "down_proj"};
    char name[120];
    static unsigned char zeros[EXPERTS * 2 * FFN * DIM * 2];
    const int both[] = {EXPERTS, DIM, 2 * FFN}, down[] = {EXPERTS, FFN, DIM};
    const int both_bias[] = {EXPERTS, 2 * FFN}, down_bias[] = {EXPERTS, DIM};
    if (strcmp(of->experts, "separate") == 0) {
        for (int i = 0; i < 3 * EXPERTS; i++) {
            snprintf(name, sizeof name, "%slayers.%d.mlp.experts.%d.%s.weight", of->before, layer,
                     i / 3, names[i % 3]);
            put(file, name, i % 3 == 2 ? DIM : FFN, i % 3 == 2 ? FFN : DIM);
        }
        return;
    }
#define PUT(rest, size, n)                                                                         \
    (snprintf(name, sizeof name, "%slayers.%d.mlp.experts.%s", of->before, layer, rest),           \
     spec_hf_folder_put(file, name, "BF16", n, size, zeros,                                        \
                        (size_t)(size[0] * size[1] * (n == 3 ? size[n - 1] : 1)) * 2))
    PUT("gate_up_proj", both, 3);
    PUT("down_proj", down, 3);
    PUT("gate_up_proj_bias", both_bias, 2);
    PUT("down_proj_bias", down_bias, 2);
#undef PUT
}

/* Writes the folder, without the tensor `leave_out`, unless that is NULL. */
static void write_folder(const family *of, const char *leave_out, const spec_shape *shape)
{
    spec_hf_file file = {0};
    char text[1024], name[120];
    assert_int_equal(system("rm -rf hf && mkdir hf"), 0);
    for (const named *one = of->names; one->name != NULL; one++)
        for (int layer = 0; layer < (one->part < SPEC_PART_ATTENTION_NORM ? 1 : LAYERS); layer++) {
            int rows, cols;
            spec_checkpoint_parts_shape(&rows, &cols, one->part, shape);
            name_of(name, of, one, layer);
            if (leave_out == NULL || strcmp(leave_out, name) != 0) put(&file, name, rows, cols);
        }
    for (int layer = 0; of->experts != NULL && layer < LAYERS; layer++)
        put_experts(&file, of, layer);
    if (of->is_nested)
        put(&file,
            of->before_output[0] != '\0' ? "vision_tower.patch.weight"
                                         : "model.vision_tower.patch.weight",
            2, 3);
    spec_hf_folder_write(&file, "hf/model.safetensors");
    snprintf(text, sizeof text,
             "{%s'hidden_size':%d,'num_hidden_layers':%d,'num_attention_heads':%d,"
             "'num_key_value_heads':%d,'head_dim':%d,'intermediate_size':%d,'vocab_size':%d,"
             "'max_position_embeddings':64,%s}%s",
             of->is_nested ? "'model_type':'gemma3','text_config':{" : "", DIM, LAYERS, HEADS,
             KV_HEADS, HEAD, FFN, VOCAB, of->config, of->is_nested ? "}" : "");
    spec_hf_folder_text("hf/config.json", text);
}

static spec_shape shape_of(const family *of)
{
    return (spec_shape){.dim = DIM,
                        .n_layers = LAYERS,
                        .n_heads = HEADS,
                        .n_kv_heads = KV_HEADS,
                        .head_dim = HEAD,
                        .ffn_dim = FFN,
                        .vocab = VOCAB,
                        .n_experts = of->experts != NULL ? EXPERTS : 0,
                        .expert_dim = of->experts != NULL ? FFN : 0};
}

static bool is_norm(spec_part part)
{
    return part == SPEC_PART_FINAL_NORM || part == SPEC_PART_ATTENTION_NORM ||
           part == SPEC_PART_FFN_NORM || part == SPEC_PART_QUERY_NORM ||
           part == SPEC_PART_KEY_NORM || part == SPEC_PART_ATTENTION_POST_NORM ||
           part == SPEC_PART_FFN_POST_NORM;
}

static void assert_tensor(const spec_tensor *tensor, const char *name, bool adds_one)
{
    float row[FFN * 4];
    assert_non_null(tensor->data);
    for (int r = 0; r < tensor->rows; r++) {
        spec_tensor_decode_row(row, tensor, r);
        for (int c = 0; c < tensor->cols; c++)
            if (row[c] != value(name, r * tensor->cols + c) + (adds_one ? 1.0f : 0.0f))
                fail_msg("%s: row %d, column %d: %g", name, r, c, (double)row[c]);
    }
}

static void assert_experts(const family *of, const spec_checkpoint *model)
{
    static const char *const names[] = {"gate_proj", "up_proj", "down_proj"};
    for (int i = 0; i < 3 * EXPERTS * LAYERS; i++) {
        const int layer = i / (3 * EXPERTS), expert = i / 3 % EXPERTS, which = i % 3;
        const spec_tensor *all = spec_checkpoint_parts_tensor_const(
            (spec_part)(SPEC_PART_EXPERT_GATE + which), model, layer);
        const int rows = all->rows / EXPERTS;
        spec_tensor one = {all->type, rows, all->cols,
                           (const char *)all->data +
                               (size_t)(expert * rows) *
                                   spec_tensor_row_bytes(all->type, all->cols)};
        char name[120];
        snprintf(name, sizeof name, "%slayers.%d.mlp.experts.%d.%s.weight", of->before, layer,
                 expert, names[which]);
        assert_tensor(&one, name, false);
    }
}

static void import_folder(const char *path)
{
    OWNED(spec_import_model) model;
    spec_error error = {""};
    int kept;
    if (spec_import_model_open(&model, "hf", &error) != GSL_SUCCESS ||
        spec_import_model_write(&kept, &model, path, NULL, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
}

static void load(spec_checkpoint *ret, const char *path)
{
    OWNED(spec_settings) settings;
    char spec[60];
    snprintf(spec, sizeof spec, "gguf:%s", path);
    assert_works(spec_settings_init(&settings, spec, &error));
    assert_works(spec_checkpoint_load_gguf(ret, &settings, NULL, &error));
}

TEST(every_tensor_has_its_place)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const family *of = &families[i];
        const spec_shape shape = shape_of(of);
        OWNED(spec_checkpoint) model;
        write_folder(of, NULL, &shape);
        import_folder("model.gguf");
        load(&model, "model.gguf");
        assert_string_equal(model.opt_architecture->name, of->architecture);
        assert_true(model.shape.head_dim == HEAD && model.shape.n_experts == shape.n_experts);
        for (const named *one = of->names; one->name != NULL; one++)
            for (int layer = 0; layer < (one->part < SPEC_PART_ATTENTION_NORM ? 1 : LAYERS);
                 layer++) {
                char name[120];
                assert_tensor(spec_checkpoint_parts_tensor_const(one->part, &model, layer),
                              name_of(name, of, one, layer), of->adds_one && is_norm(one->part));
            }
        if (of->experts != NULL && of->experts[0] == 's') assert_experts(of, &model);
    }
}

TEST(windows_and_ropes_come_back)
{
    for (size_t i = 2; i < sizeof families / sizeof *families; i++) {
        const family *of = &families[i];
        const spec_shape shape = shape_of(of);
        OWNED(spec_checkpoint) model;
        write_folder(of, NULL, &shape);
        import_folder("model.gguf");
        load(&model, "model.gguf");
        assert_int_equal(model.shape.window, 4);
        for (int layer = 0; layer < LAYERS; layer++)
            assert_int_equal(model.layer[layer].has_window, layer % 2 == 0);
        if (of->names == gemma3) {
            assert_true(model.shape.rope.base == 1e6 && model.shape.window_rope.base == 1e4);
            assert_true(model.shape.embedding_scale > 0.0f);
            assert_ptr_equal(model.output.data, model.embedding.data);
        } else {
            assert_true(model.shape.rope.base == 150000.0);
            assert_true(model.shape.rope.magnitude > 1.1f && model.shape.rope.opt_factor != NULL);
        }
    }
}

/* If any single tensor is missing, the folder is refused, and the error names it. */
TEST(a_folder_without_one_tensor_is_refused)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const family *of = &families[i];
        const spec_shape shape = shape_of(of);
        for (const named *one = of->names; one->name != NULL; one++) {
            spec_import_model model;
            char name[120], expected[160];
            name_of(name, of, one, LAYERS - 1);
            snprintf(expected, sizeof expected, "hf: tensor '%s' is missing",
                     one->part == SPEC_PART_EMBEDDING ? "model.embed_tokens.weight" : name);
            write_folder(of, name, &shape);
            assert_fails(spec_import_model_open(&model, "hf", &error), GSL_EINVAL, expected);
        }
    }
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
