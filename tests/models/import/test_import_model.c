/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A random model in the layout of Hugging Face comes back as the file that it was. */
#include "models/import/import_model.h"

#include "models/transformer/engine/transformer.h"
#include "models/transformer/files/checkpoint_parts.h"
#include "tests/models/open_model.h"
#include "tests/support/folder.h"
#include "tests/support/hf_folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHAPE "dim=24&layers=2&heads=4&kv_heads=2&ffn=40&vocab=32&context=16&seed=5"

/* The names of a layer follow "model.layers.1.". */
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

typedef struct {
    bool halves; /* exports a model that rotates halves, whose rows stay where they are */
    bool zero_bias, tied;
    const char *left_out, *more; /* a tensor to leave out, and one to add */
    const char *second;          /* a second file, with the tensors from layer 1 on, and an index */
    const char *config;          /* members of config.json */
} wish;

static void load(spec_checkpoint *ret, const char *spec)
{
    OWNED(spec_settings) settings;
    assert_works(spec_settings_init(&settings, spec, &error));
    assert_works(spec_checkpoint_load_random(ret, &settings, NULL, &error));
    spec_checkpoint_draw(ret);
}

static void put_part(spec_hf_file *file, const spec_checkpoint *model, spec_part part, int layer,
                     const wish *w)
{
    const spec_tensor *tensor = spec_checkpoint_parts_tensor_const(part, model, layer);
    char name[80] = "";
    if (part >= SPEC_PART_ATTENTION_NORM) snprintf(name, sizeof name, "model.layers.%d.", layer);
    strcat(name, names[part]);
    if (w->left_out != NULL && strcmp(w->left_out, name) == 0) return;
    if (tensor->data == NULL && w->zero_bias) {
        int rows, cols;
        spec_checkpoint_parts_shape(&rows, &cols, part, &model->shape);
        spec_hf_folder_put(file, name, "F32", 1, &cols, NULL, (size_t)cols * sizeof(float));
    } else if (tensor->data != NULL && !w->halves &&
               (part == SPEC_PART_QUERY || part == SPEC_PART_KEY)) {
        spec_hf_folder_put_halves(file, name, tensor, model->shape.head_dim);
    } else if (tensor->data != NULL) {
        spec_hf_folder_put_weights(file, name, tensor);
    }
}

static void put_index(const char *second)
{
    char text[4096] = "{'weight_map':{'model.norm.weight':'model-1.safetensors'";
    for (int i = SPEC_PART_ATTENTION_NORM; i < SPEC_PARTS; i++) {
        if (names[i] == NULL || strstr(names[i], "bias") != NULL) continue;
        const size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, ",'model.layers.1.%s':'%s'", names[i] + strlen(""),
                 second);
    }
    strcat(text, "}}");
    spec_hf_folder_text("hf/model.safetensors.index.json", text);
}

/* Writes a model as the folder hf. */
static void export_model(const spec_checkpoint *model, const wish *w)
{
    spec_hf_file file = {0}, second = {0};
    char text[1024];
    const spec_shape *s = &model->shape;
    assert_int_equal(system("rm -rf hf && mkdir hf"), 0);
    for (int part = 0; part < SPEC_PARTS; part++) {
        if (names[part] == NULL || (part == SPEC_PART_OUTPUT && w->tied)) continue;
        for (int layer = 0; layer < spec_checkpoint_parts_copies((spec_part)part, s); layer++)
            put_part(layer > 0 && w->second != NULL ? &second : &file, model, (spec_part)part,
                     layer, w);
    }
    if (w->more != NULL) spec_hf_folder_put(&file, w->more, "F32", 1, &(int){3}, NULL, 12);
    spec_hf_folder_write(&file,
                         w->second != NULL ? "hf/model-1.safetensors" : "hf/model.safetensors");
    if (w->second != NULL) {
        snprintf(text, sizeof text, "hf/%s", w->second);
        spec_hf_folder_write(&second, text);
        put_index(w->second);
    }
    snprintf(text, sizeof text,
             "{'hidden_size':%d,'num_hidden_layers':%d,'num_attention_heads':%d,"
             "'num_key_value_heads':%d,'intermediate_size':%d,'vocab_size':%d,"
             "'max_position_embeddings':%d,'rms_norm_eps':%.9g,'rope_theta':%.9g,"
             "'tie_word_embeddings':%s,%s}",
             s->dim, s->n_layers, s->n_heads, s->n_kv_heads, s->ffn_dim, s->vocab, s->context,
             (double)s->norm_eps, s->rope.base, w->tied ? "true" : "false",
             w->config != NULL ? w->config : "'model_type':'llama'");
    spec_hf_folder_text("hf/config.json", text);
}

static void import_as(const char *path)
{
    OWNED(spec_import_model) model;
    spec_error error = {""};
    int kept;
    if (spec_import_model_open(&model, "hf", &error) != GSL_SUCCESS ||
        spec_import_model_write(&kept, &model, path, NULL, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
}

static void write_direct(spec_checkpoint *model, const char *path)
{
    int kept;
    assert_works(spec_gguf_model_write(&kept, model, &(spec_gguf_model_vocabulary){0}, path,
                                       &(spec_gguf_model_watch){.opt_name = "hf"}, &error));
}

static void assert_same_files(const char *a, const char *b)
{
    char command[200];
    snprintf(command, sizeof command, "cmp %s %s", a, b);
    assert_int_equal(system(command), 0);
}

/* Checks that the rows after every beginning of a text agree within `most`; 0: bit for bit. */
static void assert_same_rows(const char *a, const char *b, double most)
{
    const int text[] = {3, 17, 30, 5, 5, 9};
    char spec[2][40];
    snprintf(spec[0], sizeof spec[0], "gguf:%s", a);
    snprintf(spec[1], sizeof spec[1], "gguf:%s", b);
    opened x = open_model(spec[0], NULL), y = open_model(spec[1], NULL);
    for (size_t n = 1; n <= 6; n++) {
        const double *row = row_after(&x, text, n), *other = row_after(&y, text, n);
        for (int i = 0; i < x.model->vocab; i++)
            if (!(fabs(row[i] - other[i]) <= most))
                fail_msg("%s, %s: %g, %g", a, b, row[i], other[i]);
    }
    opened_free(&x);
    opened_free(&y);
}

TEST(a_model_comes_back_bit_for_bit)
{
    static const char *const types[] = {"f32", "f16", "bf16"};
    for (int i = 0; i < 3; i++) {
        char spec[120];
        OWNED(spec_checkpoint) model;
        snprintf(spec, sizeof spec, "random?%s&type=%s", SHAPE, types[i]);
        load(&model, spec);
        for (int shards = 0; shards < 2; shards++) {
            model.begin_of_text = 1;
            model.ends = (spec_text_ends){3, {2, 5, 7}};
            model.adds_begin = true;
            write_direct(&model, "direct.gguf");
            export_model(&model, &(wish){.second = shards ? "model-2.safetensors" : NULL,
                                         .config = "'model_type':'mistral','bos_token_id':1,"
                                                   "'eos_token_id':[2,5,7]"});
            import_as("imported.gguf");
            assert_same_files("direct.gguf", "imported.gguf");
            assert_same_rows("direct.gguf", "imported.gguf", 0.0);
            OWNED(opened) o = open_model("gguf:imported.gguf", NULL);
            assert_memory_equal(&o.model->ends, &model.ends, sizeof model.ends);
        }
    }
}

/* The same weights and rotation, once as llama, whose rows move, once as qwen2 with zero biases,
 * whose rows stay. */
TEST(rows_move_so_that_the_rotation_stays)
{
    OWNED(spec_checkpoint) model;
    load(&model, "random?" SHAPE "&type=f32");
    export_model(&model, &(wish){.halves = true,
                                 .config = "'model_type':'llama','rope_scaling':{'type':'linear',"
                                           "'factor':3.0}"});
    import_as("llama.gguf");
    export_model(&model, &(wish){.halves = true,
                                 .zero_bias = true,
                                 .config = "'model_type':'qwen2','rope_parameters':{'rope_theta':"
                                           "10000,'rope_type':'linear','factor':3.0}"});
    import_as("qwen2.gguf");
    assert_same_rows("llama.gguf", "qwen2.gguf", 1e-6);
    export_model(&model, &(wish){.halves = true});
    import_as("unscaled.gguf");
    opened a = open_model("gguf:llama.gguf", NULL), b = open_model("gguf:unscaled.gguf", NULL);
    const int text[] = {3, 17, 30, 5};
    assert_true(fabs(row_after(&a, text, 4)[1] - row_after(&b, text, 4)[1]) > 1e-6);
    opened_free(&a);
    opened_free(&b);
}

TEST(a_tied_model_has_no_output_of_its_own)
{
    OWNED(spec_checkpoint) model;
    load(&model, "random?" SHAPE "&type=bf16");
    export_model(&model, &(wish){.tied = true});
    import_as("tied.gguf");
    export_model(&model, &(wish){.tied = true, .more = "lm_head.weight"}); /* of any shape */
    import_as("tied_too.gguf");
    assert_same_files("tied.gguf", "tied_too.gguf");
    OWNED(opened) o = open_model("gguf:tied.gguf", NULL);
    const spec_checkpoint *read = spec_transformer_of(o.model)->checkpoint;
    assert_ptr_equal(read->output.data, read->embedding.data);
    assert_int_equal(read->embedding.type, SPEC_TENSOR_BF16);
}

/* The factors of Llama 3 become a tensor of the file, with exactly the values of config.json. */
TEST(factors_of_llama_3_are_written)
{
    OWNED(spec_checkpoint) model;
    load(&model, "random?" SHAPE "&type=f32");
    export_model(&model,
                 &(wish){.config = "'model_type':'llama','rope_scaling':{'rope_type':'llama3',"
                                   "'factor':8.0,'original_max_position_embeddings':16}"});
    OWNED(spec_import_model) imported;
    assert_works(spec_import_model_open(&imported, "hf", &error));
    import_as("llama3.gguf");
    OWNED(opened) o = open_model("gguf:llama3.gguf", NULL);
    const spec_shape *read = &spec_transformer_of(o.model)->checkpoint->shape;
    assert_memory_equal(read->rope.opt_factor, imported.config.rope_factor,
                        (size_t)(read->head_dim / 2) * sizeof(float));
    assert_true(read->rope.opt_factor[0] < read->rope.opt_factor[2]);
}

static void refused(const spec_checkpoint *model, const wish *w, const char *expected)
{
    spec_import_model imported;
    spec_error error = {""};
    export_model(model, w);
    assert_int_not_equal(spec_import_model_open(&imported, "hf", &error), GSL_SUCCESS);
    if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
    assert_null(strchr(error.text, '\n'));
    assert_null(imported.folder.file);
    assert_null(imported.checkpoint.layer);
}

TEST(folders_that_are_no_such_model_are_refused)
{
    OWNED(spec_checkpoint) model;
    load(&model, "random?" SHAPE "&type=f32");
    refused(&model, &(wish){.left_out = "model.layers.1.mlp.up_proj.weight"},
            "hf: tensor 'model.layers.1.mlp.up_proj.weight' is missing");
    refused(&model, &(wish){.left_out = "lm_head.weight"},
            "hf: tensor 'lm_head.weight' is "
            "missing");
    refused(&model, &(wish){.more = "model.layers.0.self_attn.o_proj.bias"},
            "hf: tensor 'model.layers.0.self_attn.o_proj.bias' is not one of such a model's");
    refused(&model, &(wish){.more = "model.layers.0.self_attn.q_norm.weight"},
            "hf: tensor 'model.layers.0.self_attn.q_norm.weight' is not one of such a model's");
    refused(&model, &(wish){.config = "'model_type':'qwen2'"},
            "hf: tensor 'model.layers.0.self_attn.q_proj.bias' is missing");
    refused(&model, &(wish){.config = "'model_type':'qwen3','head_dim':6"},
            "hf: tensor 'model.layers.0.self_attn.q_norm.weight' is missing");
    refused(&model, &(wish){.config = "'model_type':'phi3'"}, "hf/config.json: model_type is");
    refused(&model, &(wish){.config = "'model_type':'llama','head_dim':8"},
            "hf: tensor 'model.layers.0.self_attn.q_proj.weight' has 2 dimensions, 24 x 24, where "
            "the shape asks for 32 x 24");
    unlink("hf/config.json");
    spec_import_model imported;
    spec_error error = {""};
    assert_int_not_equal(spec_import_model_open(&imported, "hf", &error), GSL_SUCCESS);
    assert_non_null(strstr(error.text, "hf/config.json: No such file"));
    /* The angles that older files store are not part of the model. */
    export_model(&model, &(wish){.more = "model.layers.1.self_attn.rotary_emb.inv_freq"});
    import_as("older.gguf");
}

TEST(an_interrupted_import_leaves_no_file)
{
    OWNED(spec_checkpoint) model;
    OWNED(spec_import_model) imported;
    int kept;
    const int stop = 1;
    load(&model, "random?" SHAPE "&type=f32");
    export_model(&model, &(wish){0});
    assert_works(spec_import_model_open(&imported, "hf", &error));
    assert_fails(spec_import_model_write(&kept, &imported, "never.gguf",
                                         &(spec_gguf_model_watch){.opt_stop = &stop}, &error),
                 GSL_EFAILED, "interrupted");
    assert_int_not_equal(access("never.gguf", F_OK), 0);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
