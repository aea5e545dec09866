/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draft heads as they are published: each comes back as the file of the head that was drawn. */
#include "models/import/import_head.h"

#include "models/heads/head_file.h"
#include "models/import/import_model.h"
#include "tests/support/drawn_head.h"
#include "tests/support/folder.h"
#include "tests/support/hf_folder.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VOCAB = 24, LAYERS = 9 };

static spec_checkpoint target;

static int make_target(void **state)
{
    spec_settings settings;
    spec_error error = {""};
    if (spec_folder_enter(state) != 0 || mkdir("hf", 0700) != 0 ||
        spec_settings_init(&settings,
                           "random?dim=16&layers=9&heads=4&kv_heads=2&ffn=24&vocab=24&context=32&"
                           "type=f32",
                           &error) != GSL_SUCCESS ||
        spec_checkpoint_load_random(&target, &settings, NULL, &error) != GSL_SUCCESS)
        return -1;
    spec_checkpoint_draw(&target);
    spec_settings_free(&settings);
    return 0;
}

static int remove_target(void **state)
{
    spec_checkpoint_free(&target);
    return spec_folder_leave(state);
}

/* ---- heads as folders ------------------------------------------------------------------------ */

typedef struct {
    spec_head_kind kind;
    int draft_vocab;                        /* 0: the target's */
    const char *layer, *fc, *more;          /* beginnings of names; a tensor to add */
    bool no_bias, embeds, absolute, narrow; /* narrow: d2t is of int32_t */
    int options;                            /* of the drawn head, for eagle3 */
    const char *left_out;
    const char *config; /* members of config.json */
} wish;

static const char *const layer_names[SPEC_HEAD_PARTS] = {
    [SPEC_HEAD_EMBEDDING_NORM] = "input_layernorm",
    [SPEC_HEAD_FEATURE_NORM] = "hidden_norm",
    [SPEC_HEAD_QUERY] = "self_attn.q_proj",
    [SPEC_HEAD_KEY] = "self_attn.k_proj",
    [SPEC_HEAD_VALUE] = "self_attn.v_proj",
    [SPEC_HEAD_ATTENTION_OUTPUT] = "self_attn.o_proj",
    [SPEC_HEAD_FFN_NORM] = "post_attention_layernorm",
    [SPEC_HEAD_GATE] = "mlp.gate_proj",
    [SPEC_HEAD_UP] = "mlp.up_proj",
    [SPEC_HEAD_DOWN] = "mlp.down_proj",
};

static void name_part(char name[96], const wish *w, spec_head_part part, int copy)
{
    if (layer_names[part] != NULL)
        snprintf(name, 96, "%s%s.weight", w->layer, layer_names[part]);
    else if (part == SPEC_HEAD_FC)
        snprintf(name, 96, "%sweight", w->fc);
    else if (part == SPEC_HEAD_FC_BIAS)
        snprintf(name, 96, "%sbias", w->fc);
    else if (part == SPEC_HEAD_LINEAR)
        snprintf(name, 96, "%s%d.0.linear.weight", w->layer, copy);
    else if (part == SPEC_HEAD_LINEAR_BIAS)
        snprintf(name, 96, "%s%d.0.linear.bias", w->layer, copy);
    else if (part == SPEC_HEAD_DEPTH_OUTPUT)
        snprintf(name, 96, "%s%d.1.weight", w->layer, copy);
    else
        snprintf(name, 96, "%s",
                 part == SPEC_HEAD_OUTPUT       ? "lm_head.weight"
                 : part == SPEC_HEAD_EMBEDDING  ? "embed_tokens.weight"
                 : part == SPEC_HEAD_INPUT_NORM ? "input_norm.weight"
                                                : "norm.weight");
}

static void put_tokens(spec_hf_file *file, const spec_head *head, const wish *w)
{
    int64_t offset[VOCAB];
    int32_t narrow[VOCAB];
    unsigned char used[VOCAB] = {0};
    for (int i = 0; i < head->shape.draft_vocab; i++) {
        offset[i] = head->opt_token[i] - (w->absolute ? 0 : i);
        used[head->opt_token[i]] = 1;
        narrow[i] = (int32_t)offset[i];
    }
    spec_hf_folder_put(file, "d2t", w->narrow ? "I32" : "I64", 1, &head->shape.draft_vocab,
                       w->narrow ? (const void *)narrow : offset,
                       (size_t)head->shape.draft_vocab * (w->narrow ? 4 : 8));
    spec_hf_folder_put(file, "t2d", "BOOL", 1, &(int){VOCAB}, used, VOCAB);
}

/* Draw a head and write it as the folder hf. */
static void export_head(spec_head *ret, const wish *w)
{
    spec_hf_file file = {0};
    drawn_head(ret, &(drawn_head_config){w->kind, 3, w->draft_vocab, w->options, 7}, &target);
    ret->fingerprint = spec_head_file_fingerprint(&target);
    for (int i = 0; i < SPEC_HEAD_PARTS; i++) {
        const spec_head_part part = (spec_head_part)i;
        for (int copy = 0; copy < spec_head_copies(part, &ret->shape); copy++) {
            char name[96];
            spec_tensor *tensor = &ret->tensor[part][copy];
            name_part(name, w, part, copy);
            if (part == SPEC_HEAD_FC_BIAS && w->no_bias) {
                memset((void *)(uintptr_t)tensor->data, 0, (size_t)tensor->cols * sizeof(float));
                continue;
            }
            if (w->left_out != NULL && strcmp(name, w->left_out) == 0) continue;
            if (part == SPEC_HEAD_QUERY || part == SPEC_HEAD_KEY)
                spec_hf_folder_put_halves(&file, name, tensor, ret->shape.shape.head_dim);
            else
                spec_hf_folder_put_weights(&file, name, tensor);
        }
    }
    if (ret->opt_token != NULL) put_tokens(&file, ret, w);
    if (w->embeds) spec_hf_folder_put_weights(&file, "embed_tokens.weight", &target.embedding);
    if (w->more != NULL) spec_hf_folder_put(&file, w->more, "F32", 1, &(int){3}, NULL, 12);
    spec_hf_folder_write(&file, "hf/model.safetensors");
    spec_hf_folder_text("hf/config.json", w->config != NULL ? w->config : "{}");
}

#define LAYER                                                                                      \
    "'model_type':'llama','hidden_size':16,'num_hidden_layers':1,'num_attention_heads':4,"         \
    "'num_key_value_heads':2,'intermediate_size':24,'vocab_size':24,'rms_norm_eps':1e-5,"          \
    "'rope_theta':10000"
#define WIDE_LAYER                                                                                 \
    "'model_type':'llama','hidden_size':32,'num_hidden_layers':1,'num_attention_heads':4,"         \
    "'head_dim':4,'num_key_value_heads':2,'intermediate_size':24,'vocab_size':24,"                 \
    "'rms_norm_eps':1e-5,'rope_theta':10000"
#define TAPS "'eagle_aux_hidden_state_layer_ids':"

static void assert_same_files(const char *a, const char *b)
{
    char command[200];
    snprintf(command, sizeof command, "cmp %s %s", a, b);
    assert_int_equal(system(command), 0);
}

/* Import the folder and compare its file with that of the head that was drawn, and read it. */
static void comes_back(spec_head *drawn, const int *opt_tap, spec_head_taps from)
{
    spec_head head, read;
    spec_head_taps taps;
    spec_error error = {""};
    int kept;
    if (spec_import_head_open(&head, &taps, "hf", &target, opt_tap, &error) != GSL_SUCCESS ||
        spec_head_file_write(&kept, &head, "imported.gguf", &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    assert_int_equal(taps, from);
    assert_int_equal(head.shape.reach, drawn->shape.reach);
    memcpy(drawn->shape.tap, head.shape.tap, sizeof drawn->shape.tap);
    drawn->shape.shape.norm_eps = drawn->shape.shape.n_layers > 0 ? 1e-5f : target.shape.norm_eps;
    drawn->shape.norm_before_residual = head.shape.norm_before_residual;
    drawn->shape.normed_features = head.shape.kind == SPEC_HEAD_EAGLE;
    assert_int_equal(spec_head_file_write(&kept, drawn, "drawn.gguf", &error), GSL_SUCCESS);
    assert_same_files("drawn.gguf", "imported.gguf");
    if (spec_head_file_load(&read, "imported.gguf", &target, false, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    spec_head_free(&read);
    spec_head_free(&head);
}

static void assert_taps(const spec_head *head, int a, int b, int c)
{
    assert_int_equal(head->shape.tap[0], a);
    assert_int_equal(head->shape.tap[1], b);
    assert_int_equal(head->shape.tap[2], c);
}

static void medusa_comes_back(void **state)
{
    (void)state;
    static const char *const before[] = {"medusa_head.", ""};
    for (int i = 0; i < 2; i++) {
        spec_head drawn;
        export_head(&drawn, &(wish){.kind = SPEC_HEAD_MEDUSA, .layer = before[i]});
        assert_int_equal(unlink("hf/config.json"), 0); /* needs none */
        comes_back(&drawn, NULL, SPEC_HEAD_TAPS_FROM_NONE);
        assert_int_equal(drawn.shape.tap[0], LAYERS);
        spec_head_free(&drawn);
    }
}

static void eagle_1_comes_back(void **state)
{
    (void)state;
    static const char *const layer[] = {"layers.0.", "transformer."}, *const fc[] = {"fc.",
                                                                                     "fusion_fc."};
    for (int i = 0; i < 4; i++) {
        spec_head drawn;
        export_head(&drawn,
                    &(wish){.kind = SPEC_HEAD_EAGLE,
                            .layer = layer[i % 2],
                            .fc = fc[i % 2],
                            .no_bias = i >= 2,
                            .embeds = i > 0,
                            .config = i % 2 == 0 ? "{" LAYER "}"
                                                 : "{'speculators_model_type':'eagle',"
                                                   "'transformer_layer_config':{" LAYER "}}"});
        comes_back(&drawn, NULL, SPEC_HEAD_TAPS_FROM_NONE);
        spec_head_free(&drawn);
    }
}

/* As SafeAILab and SpecForge store it, and as speculators do. */
static void eagle_3_comes_back(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        spec_head drawn;
        const bool speculators = i >= 2;
        export_head(&drawn,
                    &(wish){.kind = SPEC_HEAD_EAGLE3,
                            .layer = speculators ? "layers.0." : "midlayer.",
                            .fc = "fc.",
                            .draft_vocab = i % 2 == 1 ? 10 : 0,
                            .embeds = speculators,
                            .config = speculators ? "{'speculators_model_type':'eagle3',"
                                                    "'norm_before_residual':true," TAPS "[1,4,8],"
                                                    "'transformer_layer_config':{" LAYER "}}"
                                                  : "{" LAYER "}"});
        comes_back(&drawn, NULL,
                   speculators ? SPEC_HEAD_TAPS_FROM_COUNTS : SPEC_HEAD_TAPS_FROM_DEFAULT);
        if (speculators)
            assert_taps(&drawn, 1, 4, 8);
        else
            assert_taps(&drawn, 2, 4, 6);
        assert_int_equal(drawn.shape.norm_before_residual, speculators);
        assert_int_equal(drawn.shape.draft_vocab, i % 2 == 1 ? 10 : VOCAB);
        spec_head_free(&drawn);
    }
}

/* Heads that norm the target's states, trained an embedding, or have no output; one that is wider
 * than its target; d2t of 32 bits. */
static void forms_of_eagle_3_come_back(void **state)
{
    (void)state;
    static const struct {
        int options, draft_vocab;
        const char *config;
    } cases[] = {
        {DRAWN_FC_NORM, 10, "{" LAYER ",'norm_before_fc':true}"},
        {DRAWN_FC_NORM, 0, "{" LAYER ",'eagle_config':{'norm_before_fc':true}}"},
        {DRAWN_EMBEDDING, 10, "{" LAYER "}"},
        {DRAWN_NO_OUTPUT, 0, "{" LAYER "}"},
        {DRAWN_EMBEDDING | DRAWN_NO_OUTPUT | DRAWN_FC_NORM, 0, "{" LAYER ",'norm_before_fc':true}"},
        {DRAWN_EMBEDDING | DRAWN_OTHER_DIM, 10, "{" WIDE_LAYER ",'target_hidden_size':16}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spec_head drawn;
        export_head(&drawn, &(wish){.kind = SPEC_HEAD_EAGLE3,
                                    .layer = "midlayer.",
                                    .fc = "fc.",
                                    .draft_vocab = cases[i].draft_vocab,
                                    .narrow = true,
                                    .options = cases[i].options,
                                    .config = cases[i].config});
        comes_back(&drawn, NULL, SPEC_HEAD_TAPS_FROM_DEFAULT);
        spec_head_free(&drawn);
    }
}

static void taps_are_counted_in_two_ways(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        int tap[3];
        spec_head_taps from;
    } cases[] = {
        {"{" LAYER "," TAPS "[2,5,9]}", {2, 5, 9}, SPEC_HEAD_TAPS_FROM_COUNTS},
        {"{" LAYER "," TAPS "[1,5,9]}", {1, 5, 9}, SPEC_HEAD_TAPS_FROM_COUNTS},
        {"{" LAYER ",'eagle_config':{" TAPS "[1,4,7]}}", {2, 5, 8}, SPEC_HEAD_TAPS_FROM_LAYERS},
        {"{" LAYER ",'eagle_config':{" TAPS "[2,4,7]}}", {2, 4, 7}, SPEC_HEAD_TAPS_FROM_COUNTS},
        {"{" LAYER "," TAPS "null,'eagle_config':{" TAPS "[0,4,7]}}",
         {0, 4, 7},
         SPEC_HEAD_TAPS_FROM_COUNTS},
        {"{" LAYER ",'eagle_config':{" TAPS "null}}", {2, 4, 6}, SPEC_HEAD_TAPS_FROM_DEFAULT},
    };
    wish w = {.kind = SPEC_HEAD_EAGLE3, .layer = "midlayer.", .fc = "fc."};
    spec_head drawn;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        w.config = cases[i].config;
        export_head(&drawn, &w);
        comes_back(&drawn, NULL, cases[i].from);
        assert_taps(&drawn, cases[i].tap[0], cases[i].tap[1], cases[i].tap[2]);
        comes_back(&drawn, (int[]){0, 1, 9}, SPEC_HEAD_TAPS_FROM_CALLER);
        assert_taps(&drawn, 0, 1, 9);
        spec_head_free(&drawn);
    }
}

/* The head's own base, scaling and epsilon are kept. */
static void a_head_keeps_its_own_rotation(void **state)
{
    (void)state;
    spec_head drawn, head, read;
    spec_head_taps taps;
    spec_error error = {""};
    int kept;
    export_head(&drawn,
                &(wish){.kind = SPEC_HEAD_EAGLE3,
                        .layer = "midlayer.",
                        .fc = "fc.",
                        .config = "{'model_type':'llama','hidden_size':16,'num_hidden_layers':1,"
                                  "'num_attention_heads':4,'num_key_value_heads':2,"
                                  "'intermediate_size':24,'vocab_size':24,'rms_norm_eps':0.001,"
                                  "'rope_theta':77,'rope_scaling':{'type':'linear','factor':2}}"});
    assert_int_equal(spec_import_head_open(&head, &taps, "hf", &target, NULL, &error), GSL_SUCCESS);
    assert_int_equal(spec_head_file_write(&kept, &head, "imported.gguf", &error), GSL_SUCCESS);
    assert_int_equal(spec_head_file_load(&read, "imported.gguf", &target, false, &error),
                     GSL_SUCCESS);
    assert_true(read.shape.shape.rope.base == 77.0 && read.shape.shape.norm_eps == 0.001f);
    assert_true(read.shape.shape.rope.opt_factor[1] == 2.0f);
    assert_int_equal(read.shape.shape.context, target.shape.context);
    spec_head_free(&read);
    spec_head_free(&head);
    spec_head_free(&drawn);
}

/* A matrix of the target in 16 bits is still the target's. */
static void a_rounded_copy_of_the_embedding_is_the_targets(void **state)
{
    (void)state;
    spec_head drawn, head;
    spec_head_taps taps;
    spec_error error = {""};
    const wish w = {.kind = SPEC_HEAD_EAGLE,
                    .layer = "layers.0.",
                    .fc = "fc.",
                    .embeds = true,
                    .config = "{" LAYER "}"};
    export_head(&drawn, &w);
    float *weight = (float *)(uintptr_t)target.embedding.data;
    for (int i = 0; i < VOCAB * 16; i++) weight[i] *= 1.1f; /* a share of .0083 */
    assert_int_equal(spec_import_head_open(&head, &taps, "hf", &target, NULL, &error), GSL_SUCCESS);
    spec_head_free(&head);
    for (int i = 0; i < VOCAB * 16; i++) weight[i] *= 1.1f;
    assert_int_equal(spec_import_head_open(&head, &taps, "hf", &target, NULL, &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "hf: its 'embed_tokens.weight' is not the target's"));
    for (int i = 0; i < VOCAB * 16; i++) weight[i] /= 1.21f;
    spec_head_free(&drawn);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void is_refused(const int *opt_tap, const char *expected)
{
    spec_head head;
    spec_head_taps taps;
    spec_error error = {""};
    assert_int_not_equal(spec_import_head_open(&head, &taps, "hf", &target, opt_tap, &error),
                         GSL_SUCCESS);
    assert_memory_equal(error.text, "hf", 2);
    if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
    assert_null(strchr(error.text, '\n'));
    assert_null(head.owned);
    assert_null(head.opt_token);
}

static void refused(const wish *w, const int *opt_tap, const char *expected)
{
    spec_head drawn;
    export_head(&drawn, w);
    is_refused(opt_tap, expected);
    spec_head_free(&drawn);
}

static void heads_that_are_not_computed_are_refused(void **state)
{
    (void)state;
    const wish medusa = {.kind = SPEC_HEAD_MEDUSA, .layer = "medusa_head."},
               eagle3 = {.kind = SPEC_HEAD_EAGLE3,
                         .layer = "midlayer.",
                         .fc = "fc.",
                         .config = "{" LAYER "}"},
               eagle = {.kind = SPEC_HEAD_EAGLE,
                        .layer = "layers.0.",
                        .fc = "fc.",
                        .config = "{" LAYER "}"};
    wish w = medusa;
    w.more = "medusa_head.0.1.linear.weight";
    refused(&w, NULL, "its heads have 2 residual blocks; one is computed");
    w.more = "medusa_head.0.2.weight";
    refused(&w, NULL, "tensor 'medusa_head.0.2.weight' is not one of a head of kind medusa");
    refused(&medusa, (int[]){1, 2, 3}, "--taps: a head of kind medusa reads the last hidden state");
    w = eagle;
    w.more = "layers.0.self_attn.q_proj.bias";
    refused(&w, NULL, "tensor 'layers.0.self_attn.q_proj.bias' is not one of a head of kind eagle");
    w = eagle;
    w.more = "lm_head.weight";
    refused(&w, NULL, "tensor 'lm_head.weight' has 1 dimensions");
    w = eagle;
    w.config = "{'layernorms':true,'transformer_layer_config':{" LAYER "}}";
    refused(&w, NULL, "'layernorms' is true, which is not computed");
    w.config = "{" LAYER ",'norm_before_fc':true}";
    refused(&w, NULL, "'norm_before_fc' is true, which is not computed");
    w = eagle3;
    w.config = "{" LAYER ",'eagle_config':{'norm_before_fc':true}}";
    refused(&w, NULL, "hf: lacks tensor 'input_norm.weight'");
    w.config = "{" LAYER ",'target_hidden_size':8}";
    refused(&w, NULL, "is for a target of width 8 with 24 tokens; this target's width is 16");
    w.config = "{" LAYER ",'rope_scaling':{'rope_type':'yarn','factor':4}}";
    refused(&w, NULL, "its rope_scaling is of type 'yarn', which is not computed in heads");
    w.config = "{" WIDE_LAYER ",'target_hidden_size':16,'sliding_window':8}";
    refused(&w, NULL, "its layer has a window of 8 tokens, which is not computed in heads");
    w.config = "{'speculators_model_type':'eagle3','transformer_layer_config':{" LAYER "}}";
    refused(&w, NULL, "its config.json lacks 'norm_before_residual'");
    w.config = "{'model_type':'llama','hidden_size':32,'num_hidden_layers':1,"
               "'num_attention_heads':4,'intermediate_size':24,'vocab_size':24}";
    refused(&w, NULL, "is for a target of width 32 with 24 tokens; this target's width is 16");
    w = eagle3;
    w.left_out = "midlayer.mlp.up_proj.weight";
    refused(&w, NULL, "hf: lacks tensor 'midlayer.mlp.up_proj.weight'");
    w.draft_vocab = 10;
    w.left_out = "lm_head.weight";
    refused(&w, NULL, "hf: lacks tensor 'lm_head.weight'");
    w.left_out = "midlayer.self_attn.q_proj.weight";
    refused(&w, NULL, "its tensors are not those of a draft head (medusa, eagle, eagle3)");
}

static void taps_that_the_target_has_not_are_refused(void **state)
{
    (void)state;
    wish w = {.kind = SPEC_HEAD_EAGLE3, .layer = "midlayer.", .fc = "fc."};
    w.config = "{" LAYER "," TAPS "[2,5,10]}";
    refused(&w, NULL, "taps after 2, 5 and 10 layers are not ascending within the target's 9");
    w.config = "{" LAYER "," TAPS "[2,5,5]}";
    refused(&w, NULL, "taps after 2, 5 and 5 layers are not ascending");
    w.config = "{" LAYER ",'eagle_config':{" TAPS "[1,4,9]}}";
    refused(&w, NULL, "taps after 2, 5 and 10 layers are not ascending");
    w.config = "{" LAYER "," TAPS "[2,5]}";
    refused(&w, NULL, "the value of 'eagle_aux_hidden_state_layer_ids' is not a list of 3 layers");
    w.config = "{" LAYER "," TAPS "[2,5,'9']}";
    refused(&w, NULL, "is not a list of 3 layers");
    w.config = "{" LAYER "}";
    refused(&w, (int[]){0, 5, 10}, "taps after 0, 5 and 10 layers are not ascending");
}

/* The list of tokens, changed in each way. */
static void tokens_must_be_offsets_that_are_one_to_one(void **state)
{
    (void)state;
    static const struct {
        int64_t offset[3];
        unsigned char used[3]; /* true in t2d */
        const char *expected;
    } cases[] = {
        {{0, 21, 22}, {0, 22, 23}, "d2t: row 2 plus 22 is not one of the target's 24 tokens"},
        {{-1, 0, 0}, {0, 1, 2}, "d2t: row 0 plus -1 is not one of the target's 24 tokens"},
        {{INT64_MAX, 0, 0}, {0, 1, 2}, "d2t: row 0 plus 9223372036854775807 is not one"},
        {{1, 0, 0}, {0, 1, 2}, "d2t: token 1 occurs twice; d2t must hold offsets"},
        {{0, 1, 1}, {0, 2, 4}, "d2t and t2d disagree about token 3"},
    };
    for (size_t i = 0; i < 5; i++) {
        spec_head drawn;
        spec_hf_file file = {0};
        unsigned char used[VOCAB] = {0};
        export_head(&drawn, &(wish){.kind = SPEC_HEAD_EAGLE3,
                                    .layer = "midlayer.",
                                    .fc = "fc.",
                                    .config = "{" LAYER "}"});
        for (int k = 0; k < 3; k++) used[cases[i].used[k]] = 1;
        spec_hf_folder_put(&file, "fc.weight", "F32", 2, (int[]){16, 48}, NULL, 16 * 48 * 4);
        spec_hf_folder_put(&file, "midlayer.self_attn.q_proj.weight", "F32", 1, &(int){1}, NULL, 4);
        spec_hf_folder_put(&file, "midlayer.hidden_norm.weight", "F32", 1, &(int){1}, NULL, 4);
        spec_hf_folder_put(&file, "lm_head.weight", "F32", 2, (int[]){3, 16}, NULL, 3 * 16 * 4);
        spec_hf_folder_put(&file, "d2t", "I64", 1, &(int){3}, cases[i].offset, 24);
        spec_hf_folder_put(&file, "t2d", "BOOL", 1, &(int){VOCAB}, used, VOCAB);
        spec_hf_folder_write(&file, "hf/model.safetensors");
        is_refused(NULL, cases[i].expected);
        spec_head_free(&drawn);
    }
    wish w = {.kind = SPEC_HEAD_EAGLE3,
              .layer = "midlayer.",
              .fc = "fc.",
              .draft_vocab = 10,
              .absolute = true,
              .config = "{" LAYER "}"};
    refused(&w, NULL, "d2t and t2d disagree about token "); /* tokens in place of offsets */
}

static void models_and_heads_are_told_apart(void **state)
{
    (void)state;
    spec_head drawn;
    spec_import_model model;
    spec_error error = {""};
    export_head(&drawn, &(wish){.kind = SPEC_HEAD_EAGLE3,
                                .layer = "midlayer.",
                                .fc = "fc.",
                                .config = "{" LAYER "}"});
    assert_int_equal(spec_import_model_open(&model, "hf", &error), GSL_EINVAL);
    assert_string_equal(error.text, "hf: is a draft head (eagle3): name the model that it is for, "
                                    "--target gguf:model.gguf");
    spec_hf_file file = {0};
    spec_hf_folder_put(&file, "model.embed_tokens.weight", "F32", 1, &(int){1}, NULL, 4);
    spec_hf_folder_write(&file, "hf/model.safetensors");
    is_refused(NULL,
               "its tensors are not those of a draft head (medusa, eagle, eagle3); a model is "
               "imported without --target");
    spec_head_free(&drawn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medusa_comes_back),
        cmocka_unit_test(eagle_1_comes_back),
        cmocka_unit_test(eagle_3_comes_back),
        cmocka_unit_test(forms_of_eagle_3_come_back),
        cmocka_unit_test(taps_are_counted_in_two_ways),
        cmocka_unit_test(a_head_keeps_its_own_rotation),
        cmocka_unit_test(a_rounded_copy_of_the_embedding_is_the_targets),
        cmocka_unit_test(heads_that_are_not_computed_are_refused),
        cmocka_unit_test(taps_that_the_target_has_not_are_refused),
        cmocka_unit_test(tokens_must_be_offsets_that_are_one_to_one),
        cmocka_unit_test(models_and_heads_are_told_apart),
    };
    return cmocka_run_group_tests(tests, make_target, remove_target);
}
