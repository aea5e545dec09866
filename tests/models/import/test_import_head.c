/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Imports draft heads as they are published: each must give the file of the head that was drawn. */
#include "models/import/import_head.h"

#include "models/import/safetensors.h"
#include "tests/models/import/published_head.h"
#include "tests/support/support.h"

#include <unistd.h>

static void assert_same_files(const char *a, const char *b)
{
    char command[200];
    snprintf(command, sizeof command, "cmp %s %s", a, b);
    assert_int_equal(system(command), 0);
}

/* Imports the folder, compares its file with that of the head that was drawn, and reads it. */
static void comes_back(spec_head *drawn, const int *opt_tap, spec_head_taps from)
{
    OWNED(spec_head) head, read;
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
    assert_works(spec_head_file_write(&kept, drawn, "drawn.gguf", &error));
    assert_same_files("drawn.gguf", "imported.gguf");
    assert_works(spec_head_file_load(&read, "imported.gguf", &target, false, &error));
}

static void assert_taps(const spec_head *head, int a, int b, int c)
{
    assert_int_equal(head->shape.tap[0], a);
    assert_int_equal(head->shape.tap[1], b);
    assert_int_equal(head->shape.tap[2], c);
}

TEST(medusa_comes_back)
{
    static const char *const before[] = {"medusa_head.", ""};
    for (int i = 0; i < 2; i++) {
        OWNED(spec_head) drawn;
        export_head(&drawn, &(wish){.kind = SPEC_HEAD_MEDUSA, .layer = before[i]});
        assert_int_equal(unlink("hf/config.json"), 0); /* needs none */
        comes_back(&drawn, NULL, SPEC_HEAD_TAPS_FROM_NONE);
        assert_int_equal(drawn.shape.tap[0], LAYERS);
    }
}

TEST(eagle_1_comes_back)
{
    static const char *const layer[] = {"layers.0.", "transformer."}, *const fc[] = {"fc.",
                                                                                     "fusion_fc."};
    for (int i = 0; i < 4; i++) {
        OWNED(spec_head) drawn;
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
    }
}

/* Heads as SafeAILab and SpecForge store them, and as speculators do. */
TEST(eagle_3_comes_back)
{
    for (int i = 0; i < 4; i++) {
        OWNED(spec_head) drawn;
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
    }
}

/* Heads that normalise the target's states, have a trained embedding, or have no output; one that
 * is wider than its target; d2t with 32 bits. */
TEST(forms_of_eagle_3_come_back)
{
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
        OWNED(spec_head) drawn;
        export_head(&drawn, &(wish){.kind = SPEC_HEAD_EAGLE3,
                                    .layer = "midlayer.",
                                    .fc = "fc.",
                                    .draft_vocab = cases[i].draft_vocab,
                                    .narrow = true,
                                    .options = cases[i].options,
                                    .config = cases[i].config});
        comes_back(&drawn, NULL, SPEC_HEAD_TAPS_FROM_DEFAULT);
    }
}

TEST(taps_are_counted_in_two_ways)
{
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
TEST(a_head_keeps_its_own_rotation)
{
    OWNED(spec_head) drawn, head, read;
    spec_head_taps taps;
    int kept;
    export_head(&drawn,
                &(wish){.kind = SPEC_HEAD_EAGLE3,
                        .layer = "midlayer.",
                        .fc = "fc.",
                        .config = "{'model_type':'llama','hidden_size':16,'num_hidden_layers':1,"
                                  "'num_attention_heads':4,'num_key_value_heads':2,"
                                  "'intermediate_size':24,'vocab_size':24,'rms_norm_eps':0.001,"
                                  "'rope_theta':77,'rope_scaling':{'type':'linear','factor':2}}"});
    assert_works(spec_import_head_open(&head, &taps, "hf", &target, NULL, &error));
    assert_works(spec_head_file_write(&kept, &head, "imported.gguf", &error));
    assert_works(spec_head_file_load(&read, "imported.gguf", &target, false, &error));
    assert_true(read.shape.shape.rope.base == 77.0 && read.shape.shape.norm_eps == 0.001f);
    assert_true(read.shape.shape.rope.opt_factor[1] == 2.0f);
    assert_int_equal(read.shape.shape.context, target.shape.context);
}

/* A matrix of the target that is stored in 16 bits is still recognised as the target's. */
TEST(a_rounded_copy_of_the_embedding_is_the_targets)
{
    spec_head drawn, head;
    spec_head_taps taps;
    const wish w = {.kind = SPEC_HEAD_EAGLE,
                    .layer = "layers.0.",
                    .fc = "fc.",
                    .embeds = true,
                    .config = "{" LAYER "}"};
    export_head(&drawn, &w);
    float *weight = (float *)(uintptr_t)target.embedding.data;
    for (int i = 0; i < VOCAB * 16; i++) weight[i] *= 1.1f; /* a share of .0083 */
    assert_works(spec_import_head_open(&head, &taps, "hf", &target, NULL, &error));
    spec_head_free(&head);
    for (int i = 0; i < VOCAB * 16; i++) weight[i] *= 1.1f;
    assert_fails_with(spec_import_head_open(&head, &taps, "hf", &target, NULL, &error), GSL_EINVAL,
                      "hf: its 'embed_tokens.weight' is not the target's");
    for (int i = 0; i < VOCAB * 16; i++) weight[i] /= 1.21f;
    spec_head_free(&drawn);
}

/* Splits the file of a head into two shards with half the tensors each. */
static void split_into_shards(void)
{
    spec_safetensors whole;
    char index[4096] = "{'weight_map':{";
    assert_works(spec_safetensors_init(&whole, "hf/model.safetensors", &error));
    for (size_t part = 0; part < 2; part++) {
        spec_hf_file file = {0};
        char path[32];
        snprintf(path, sizeof path, "hf/x-%zu.safetensors", part);
        for (size_t i = part; i < whole.n_tensors; i += 2) {
            const spec_safetensors_tensor *tensor = &whole.tensor[i];
            const size_t n = strlen(index);
            spec_hf_folder_put(&file, tensor->name, tensor->type, tensor->n_dimensions,
                               tensor->dimension, tensor->data, tensor->bytes);
            assert_true((size_t)snprintf(index + n, sizeof index - n, "%s'%s':'%s'",
                                         part + i > 0 ? "," : "", tensor->name,
                                         path + 3) < sizeof index - n);
        }
        spec_hf_folder_write(&file, path);
    }
    strcat(index, "}}");
    spec_hf_folder_text("hf/model.safetensors.index.json", index);
    spec_safetensors_free(&whole);
    assert_int_equal(unlink("hf/model.safetensors"), 0);
}

TEST(a_head_in_shards_comes_back)
{
    OWNED(spec_head) drawn;
    struct stat whole;
    export_head(&drawn, &(wish){.kind = SPEC_HEAD_EAGLE3,
                                .layer = "midlayer.",
                                .fc = "fc.",
                                .draft_vocab = 10,
                                .config = "{" LAYER "}"});
    split_into_shards();
    comes_back(&drawn, NULL, SPEC_HEAD_TAPS_FROM_DEFAULT);
    assert_int_equal(stat("hf/x-1.safetensors", &whole), 0);
    assert_int_equal(truncate("hf/x-1.safetensors", whole.st_size - 1), 0);
    is_refused(NULL, "hf/x-1.safetensors: is cut short: tensor '");
    assert_int_equal(unlink("hf/x-1.safetensors"), 0);
    is_refused(NULL, "hf/x-1.safetensors: No such file");
    assert_int_equal(unlink("hf/x-0.safetensors"), 0);
    assert_int_equal(unlink("hf/model.safetensors.index.json"), 0);
    spec_hf_folder_text("hf/medusa_lm_head.pt", "x");
    is_refused(NULL, "hf: medusa_lm_head.pt is pickled, which is not supported: type python3");
    assert_int_equal(unlink("hf/medusa_lm_head.pt"), 0);
}

SUITE(.setup = make_target, .teardown = remove_target);
