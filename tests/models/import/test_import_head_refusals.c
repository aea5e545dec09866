/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Published heads that are not supported, and wrong ones, are refused in one line each. */
#include "models/import/import_head.h"

#include "models/import/import_model.h"
#include "tests/models/import/published_head.h"
#include "tests/support/support.h"

static void refused(const wish *w, const int *opt_tap, const char *expected)
{
    OWNED(spec_head) drawn;
    export_head(&drawn, w);
    is_refused(opt_tap, expected);
}

TEST(heads_that_are_not_computed_are_refused)
{
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
    refused(&w, NULL, "its heads have 2 residual blocks; only one is supported");
    w.left_out = "medusa_head.0.1.weight"; /* the block, stored once, is applied twice */
    w.more = "medusa_head.0.2.weight";
    refused(&w, NULL, "its heads have 2 residual blocks; only one is supported");
    w.left_out = NULL;
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
    refused(&w, NULL, "'layernorms' is true, which is not supported");
    w.config = "{" LAYER ",'norm_before_fc':true}";
    refused(&w, NULL, "'norm_before_fc' is true, which is not supported");
    w = eagle3;
    w.config = "{" LAYER ",'eagle_config':{'norm_before_fc':true}}";
    refused(&w, NULL, "hf: tensor 'input_norm.weight' is missing");
    w.config = "{" LAYER ",'target_hidden_size':8}";
    refused(&w, NULL, "is for a target of width 8 with 24 tokens; this target's width is 16");
    w.config = "{" LAYER ",'rope_scaling':{'rope_type':'yarn','factor':4}}";
    refused(&w, NULL, "its rope_scaling is of type 'yarn', which is not supported in heads");
    w.config = "{" WIDE_LAYER ",'target_hidden_size':16,'sliding_window':8}";
    refused(&w, NULL, "its layer has a window of 8 tokens, which is not supported in heads");
    w.config = "{'speculators_model_type':'eagle3','transformer_layer_config':{" LAYER "}}";
    refused(&w, NULL, "its config.json has no 'norm_before_residual'");
    w.config = "{'model_type':'llama','hidden_size':32,'num_hidden_layers':1,"
               "'num_attention_heads':4,'intermediate_size':24,'vocab_size':24}";
    refused(&w, NULL, "is for a target of width 32 with 24 tokens; this target's width is 16");
    w = eagle3;
    w.left_out = "midlayer.mlp.up_proj.weight";
    refused(&w, NULL, "hf: tensor 'midlayer.mlp.up_proj.weight' is missing");
    w.draft_vocab = 10;
    w.left_out = "lm_head.weight";
    refused(&w, NULL, "hf: tensor 'lm_head.weight' is missing");
    w.left_out = "midlayer.self_attn.q_proj.weight";
    refused(&w, NULL, "its tensors are not those of a draft head (medusa, eagle, eagle3)");
}

TEST(taps_that_the_target_has_not_are_refused)
{
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

/* Changes the list of tokens in each way. */
TEST(tokens_must_be_offsets_that_are_one_to_one)
{
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
        OWNED(spec_head) drawn;
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
    }
    wish w = {.kind = SPEC_HEAD_EAGLE3,
              .layer = "midlayer.",
              .fc = "fc.",
              .draft_vocab = 10,
              .absolute = true,
              .config = "{" LAYER "}"};
    refused(&w, NULL, "d2t and t2d disagree about token "); /* tokens instead of offsets */
}

TEST(models_and_heads_are_told_apart)
{
    OWNED(spec_head) drawn;
    spec_import_model model;
    export_head(&drawn, &(wish){.kind = SPEC_HEAD_EAGLE3,
                                .layer = "midlayer.",
                                .fc = "fc.",
                                .config = "{" LAYER "}"});
    assert_fails(spec_import_model_open(&model, "hf", &error), GSL_EINVAL,
                 "hf: is a draft head (eagle3): name the model that it is for, "
                 "--target gguf:model.gguf");
    spec_hf_file file = {0};
    spec_hf_folder_put(&file, "model.embed_tokens.weight", "F32", 1, &(int){1}, NULL, 4);
    spec_hf_folder_write(&file, "hf/model.safetensors");
    is_refused(NULL,
               "its tensors are not those of a draft head (medusa, eagle, eagle3); a model is "
               "imported without --target");
}

SUITE(.setup = make_target, .teardown = remove_target);
