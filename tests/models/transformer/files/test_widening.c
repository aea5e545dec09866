/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A widened model computes the same logits, bit for bit, from memory and from a file. */
#include "base/cpu.h"
#include "models/model.h"
#include "models/transformer/files/gguf_model.h"
#include "models/transformer/files/widening.h"
#include "tests/models/transformer/engine/odd_checkpoint.h"
#include "tests/models/transformer/engine/reference_pass.h"
#include "tests/support/contexts.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>

enum { TOKENS = 30, COLUMNS = 7 };

/* Computes the engine's logits (TOKENS, vocab) of a fixed text. */
static float *logits_of(const spec_checkpoint *checkpoint)
{
    OWNED(spec_weights) weights;
    int token[TOKENS];
    const int vocab = checkpoint->shape.vocab;
    float *logits = malloc((size_t)TOKENS * (size_t)vocab * sizeof *logits);
    assert_non_null(logits);
    for (int t = 0; t < TOKENS; t++) token[t] = (7 * t * t + 3 * t + 1) % vocab;
    assert_works(spec_weights_init(&weights, checkpoint, SPEC_TENSOR_TYPES,
                                   spec_test_context(0)->cpu, &error));
    engine_pass(logits, &weights, token, TOKENS, COLUMNS);
    return logits;
}

static void assert_same_logits(const spec_checkpoint *model, const spec_checkpoint *wide)
{
    float *before = logits_of(model), *after = logits_of(wide);
    assert_memory_equal(after, before,
                        (size_t)TOKENS * (size_t)model->shape.vocab * sizeof *before);
    free(before);
    free(after);
}

static void widen(spec_checkpoint *ret, const spec_checkpoint *model, int by)
{
    assert_works(spec_widening_init(ret, model, by, "model", &error));
    assert_int_equal(ret->shape.dim, by * model->shape.dim);
}

/* Models with shared key-value heads, biases, tied and separate outputs, factors, and widths that
 * are not multiples of a vector. */
TEST(logits_are_the_same_for_every_form_type_and_instruction_set, SLOW)
{
    for (int isa = 0; isa <= (int)spec_cpu_best_isa(); isa++) {
        assert_int_equal(spec_cpu_limit(spec_cpu_isa_name((spec_isa)isa), NULL), GSL_SUCCESS);
        for (int f = 0; f < ODD_FORMS; f++) {
            for (int k = 0; k < SPEC_TENSOR_TYPES; k++) {
                spec_checkpoint model, wide;
                if (spec_tensor_row_bytes((spec_tensor_type)k, odd_forms[f].shape.ffn_dim) == 0)
                    continue;
                make_odd_checkpoint(&model, &odd_forms[f], (spec_tensor_type)k);
                for (int by = 4; by <= (f == 0 ? 16 : 4); by *= 4) {
                    widen(&wide, &model, by);
                    assert_same_logits(&model, &wide);
                    spec_checkpoint_free(&wide);
                }
                spec_checkpoint_free(&model);
            }
        }
    }
    assert_int_equal(spec_cpu_limit(NULL, NULL), GSL_SUCCESS);
}

/* Changing only the gain or the epsilon of a norm changes the logits. */
TEST(a_norm_that_is_not_scaled_is_noticed)
{
    for (int k = 0; k < 2; k++) {
        OWNED(spec_checkpoint) model, wide;
        make_odd_checkpoint(&model, &odd_forms[1], SPEC_TENSOR_F32);
        widen(&wide, &model, 4);
        if (k == 0) wide.shape.norm_eps = model.shape.norm_eps;
        else memcpy((void *)wide.final_norm.data, model.final_norm.data, sizeof(float));
        float *before = logits_of(&model), *after = logits_of(&wide);
        assert_true(memcmp(before, after,
                           (size_t)TOKENS * (size_t)model.shape.vocab * sizeof *before) != 0);
        free(before);
        free(after);
    }
}

TEST(other_architectures_are_refused)
{
    spec_checkpoint model, wide;
    make_odd_checkpoint(&model, &odd_architectures[0], SPEC_TENSOR_F32);
    model.opt_architecture = spec_architecture_find((spec_piece){"gemma3", 6});
    assert_fails(spec_widening_init(&wide, &model, 4, "m.gguf", &error), GSL_EINVAL,
                 "m.gguf: a model of architecture gemma3 has norms of heads, which "
                 "widening does not compute: widen one of llama or qwen2");
    assert_null(wide.owned);
    spec_checkpoint_free(&model);
}

TEST(widths_that_are_not_exact_are_refused)
{
    static const int by[] = {-4, 0, 1, 2, 3, 8, 12, 32, 1 << 12, 1 << 30};
    spec_checkpoint model, wide;
    make_odd_checkpoint(&model, &odd_forms[0], SPEC_TENSOR_F32);
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        spec_error error = {""};
        assert_int_equal(spec_widening_init(&wide, &model, by[i], "m.gguf", &error), GSL_EINVAL);
        if (strstr(error.text, by[i] >= 1 << 12 ? "65536" : "powers of four") == NULL ||
            strncmp(error.text, "m.gguf: ", 8) != 0)
            fail_msg("%d: %s", by[i], error.text);
        assert_null(wide.layer);
    }
    spec_checkpoint_free(&model);
}

TEST(a_mixture_of_experts_is_refused)
{
    static const char line[] = "m.gguf: a model of architecture qwen3moe has experts, which "
                               "widening does not compute: widen one of llama or qwen2";
    odd_form form = odd_forms[0];
    spec_checkpoint model, wide;
    form.shape.n_experts = 4;
    form.shape.n_active = 2;
    form.shape.expert_dim = 32;
    form.shape.ffn_dim = 0;
    make_odd_checkpoint(&model, &form, SPEC_TENSOR_F32);
    model.opt_architecture = spec_architecture_find((spec_piece){"qwen3moe", 8});
    assert_fails(spec_widening_init(&wide, &model, 4, "m.gguf", &error), GSL_EINVAL, line);
    assert_null(wide.layer);
    spec_checkpoint_free(&model);
}

/* ---- trained models, through files ----------------------------------------------------------- */

static void load(spec_checkpoint *ret, spec_settings *settings, const char *spec, bool is_gguf)
{
    assert_works(spec_settings_init(settings, spec, &error));
    assert_works((is_gguf ? spec_checkpoint_load_gguf : spec_checkpoint_load_llama2c)(
        ret, settings, spec_test_pool(0), &error));
}

static void widen_story_teller(const char *name, const char *file, int by)
{
    char folder[1024], spec[1200], text[2][64];
    int kept;
    spec_settings settings, wide_settings;
    spec_checkpoint model, wide, read;
    spec_test_data(folder, sizeof folder, name);
    snprintf(spec, sizeof spec, "llama2c:%s/%s", folder, file);
    load(&model, &settings, spec, false);
    widen(&wide, &model, by);
    const spec_gguf_model_vocabulary vocabulary = {.opt_file = &settings};
    assert_works(spec_gguf_model_write(&kept, &wide, &vocabulary, "wide.gguf", NULL, &error));
    spec_checkpoint_free(&wide);
    load(&read, &wide_settings, "gguf:wide.gguf", true);
    assert_same_logits(&model, &read);
    assert_true(read.shape.norm_eps == model.shape.norm_eps / (float)by);
    for (int token = 0; token < model.shape.vocab; token++) {
        spec_tokenizer_text(model.opt_tokenizer, token, text[0], sizeof text[0]);
        spec_tokenizer_text(read.opt_tokenizer, token, text[1], sizeof text[1]);
        assert_string_equal(text[0], text[1]);
    }
    spec_checkpoint_free(&read);
    spec_checkpoint_free(&model);
    spec_settings_free(&settings);
    spec_settings_free(&wide_settings);
}

TEST(trained_models_write_the_same_logits_and_letters, SLOW, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    widen_story_teller("babyllama", "target.bin", 4);
    widen_story_teller("stories260K", "stories260K.bin", 16);
}
