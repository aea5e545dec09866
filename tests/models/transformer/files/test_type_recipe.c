/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the types in mixtures such as Q4_K_M, layer by layer, against those that llama.cpp gives
 * to models of these shapes. tests/peers/check_types.py compares whole files with those of its
 * library. */
#include "models/transformer/files/type_recipe.h"

#include "models/transformer/files/architecture.h"
#include "tests/support/support.h"

#include <string.h>

static const char data[1], other[1];

/* Makes a model without weights, with widths of 256 and 512. */
static spec_checkpoint model_of(int n_layers, int kv_heads, bool is_tied, const char *family)
{
    const spec_checkpoint model = {.shape = {.dim = 256,
                                             .ffn_dim = 512,
                                             .n_layers = n_layers,
                                             .n_heads = 8,
                                             .n_kv_heads = kv_heads,
                                             .head_dim = 32,
                                             .vocab = 64},
                                   .opt_architecture =
                                       spec_architecture_find((spec_piece){family, strlen(family)}),
                                   .embedding = {.data = data},
                                   .output = {.data = is_tied ? data : other}};
    return model;
}

/* Returns the types of a part in all layers: '4', '5', '6' for Q4_K, Q5_K, Q6_K, '8' for Q8_0. */
static void assert_types(const char *recipe, const spec_checkpoint *model, spec_part part,
                         const char *wanted)
{
    const int n = spec_checkpoint_parts_copies(part, &model->shape);
    char found[128] = "";
    assert_true(n > 0 && (size_t)n < sizeof found);
    for (int layer = 0; layer < n; layer++) {
        const spec_tensor_type type =
            spec_type_recipe_type_of(spec_type_recipe_find(recipe), model, part, layer);
        found[layer] = type == SPEC_TENSOR_Q4_K   ? '4'
                       : type == SPEC_TENSOR_Q5_K ? '5'
                       : type == SPEC_TENSOR_Q6_K ? '6'
                       : type == SPEC_TENSOR_Q8_0 ? '8'
                                                  : '?';
    }
    if (strcmp(found, wanted) != 0)
        fail_msg("%s, part %d: %s, not %s", recipe, part, found, wanted);
}

TEST(layers_of_a_mixture_have_the_types_of_llama_cpp)
{
    const spec_checkpoint model = model_of(22, 2, false, "llama");
    assert_types("q4_k_m", &model, SPEC_PART_VALUE, "6644644644644644644666");
    assert_types("q4_k_m", &model, SPEC_PART_DOWN, "6644644644644644644666");
    assert_types("q4_k_s", &model, SPEC_PART_VALUE, "5555444444444444444444");
    assert_types("q4_k_s", &model, SPEC_PART_DOWN, "5544444444444444444444");
    assert_types("q5_k_m", &model, SPEC_PART_VALUE, "6655655655655655655666");
    assert_types("q5_k_s", &model, SPEC_PART_VALUE, "5555555555555555555555");
    assert_types("q5_k_s", &model, SPEC_PART_DOWN, "5555555555555555555555");
    static const spec_part others[] = {SPEC_PART_QUERY, SPEC_PART_KEY, SPEC_PART_ATTENTION_OUTPUT,
                                       SPEC_PART_GATE, SPEC_PART_UP};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_types("q4_k_m", &model, others[i], "4444444444444444444444");
        assert_types("q5_k_m", &model, others[i], "5555555555555555555555");
    }
    const spec_checkpoint twelve = model_of(12, 2, false, "llama");
    assert_types("q4_k_m", &twelve, SPEC_PART_DOWN,
                 "644644644666"); /* the last eighth from 10 on */
    const spec_checkpoint small = model_of(3, 2, false, "llama");
    assert_types("q4_k_m", &small, SPEC_PART_VALUE, "446");
    assert_types("q4_k_s", &small, SPEC_PART_VALUE, "555");
    assert_types("q4_k_s", &small, SPEC_PART_DOWN, "444");
}

TEST(the_output_and_a_tied_embedding_have_more_bits)
{
    static const char *const mixtures[] = {"q4_k_s", "q4_k_m", "q5_k_s", "q5_k_m"};
    for (int i = 0; i < 4; i++) {
        const spec_checkpoint untied = model_of(2, 2, false, "qwen2"),
                              tied = model_of(2, 2, true, "qwen2");
        assert_types(mixtures[i], &untied, SPEC_PART_OUTPUT, "6");
        assert_types(mixtures[i], &untied, SPEC_PART_EMBEDDING, i < 2 ? "4" : "5");
        assert_types(mixtures[i], &tied, SPEC_PART_EMBEDDING, "6");
        assert_types("q4_k", &untied, SPEC_PART_OUTPUT, "4");
        assert_types("q5_k", &tied, SPEC_PART_EMBEDDING, "5");
    }
}

/* If many queries share a key-value head, its values matter more. */
TEST(values_of_80_layers_have_more_bits)
{
    const spec_checkpoint grouped = model_of(80, 2, false, "llama"),
                          plain = model_of(80, 8, false, "llama"),
                          qwen2 = model_of(80, 8, false, "qwen2"),
                          shorter = model_of(79, 2, false, "llama");
    for (int layer = 10; layer < 13; layer++) {
        const spec_type_recipe *recipe = spec_type_recipe_find("q4_k_m");
        const spec_tensor_type more = layer == 12 ? SPEC_TENSOR_Q6_K : SPEC_TENSOR_Q5_K,
                               same = layer == 12 ? SPEC_TENSOR_Q6_K : SPEC_TENSOR_Q4_K;
        assert_int_equal(spec_type_recipe_type_of(recipe, &grouped, SPEC_PART_VALUE, layer), more);
        assert_int_equal(spec_type_recipe_type_of(recipe, &qwen2, SPEC_PART_VALUE, layer), more);
        assert_int_equal(spec_type_recipe_type_of(recipe, &plain, SPEC_PART_VALUE, layer), same);
        assert_int_equal(spec_type_recipe_type_of(recipe, &grouped, SPEC_PART_DOWN, layer), same);
    }
    assert_int_equal(
        spec_type_recipe_type_of(spec_type_recipe_find("q4_k_m"), &shorter, SPEC_PART_VALUE, 10),
        SPEC_TENSOR_Q4_K);
}

TEST(experts_follow_the_down_projection_and_routers_stay_floats)
{
    spec_checkpoint model = model_of(3, 2, false, "qwen3moe");
    model.shape.n_experts = 16;
    model.shape.expert_dim = 256;
    assert_types("q4_k_m", &model, SPEC_PART_EXPERT_DOWN, "446");
    assert_types("q4_k_m", &model, SPEC_PART_EXPERT_UP, "444");
    assert_types("q4_k_m", &model, SPEC_PART_KEY, "444");
    for (const spec_type_recipe *recipe = spec_type_recipes; recipe->name != NULL; recipe++)
        assert_int_equal(spec_type_recipe_type_of(recipe, &model, SPEC_PART_ROUTER, 0),
                         SPEC_TENSOR_F32);
    model.shape.n_experts = 8;
    assert_types("q4_k_m", &model, SPEC_PART_KEY, "888");
    assert_types("q4_k_m", &model, SPEC_PART_VALUE, "888");
    assert_types("q4_k_m", &model, SPEC_PART_ATTENTION_OUTPUT, "555");
    assert_types("q4_k_m", &model, SPEC_PART_EXPERT_DOWN, "446");
    assert_types("q4_k", &model, SPEC_PART_KEY, "444");
}

/* 288 is a multiple of 32 but not of 256, and 336 of neither. */
TEST(rows_that_fill_no_block_get_another_type)
{
    static const struct {
        const char *recipe;
        spec_tensor_type of_288, of_336;
    } known[] = {
        {"q4_k", SPEC_TENSOR_Q5_0, SPEC_TENSOR_F16}, {"q5_k", SPEC_TENSOR_Q5_1, SPEC_TENSOR_F16},
        {"q6_k", SPEC_TENSOR_Q8_0, SPEC_TENSOR_F16}, {"q4_k_m", SPEC_TENSOR_Q5_0, SPEC_TENSOR_F16},
        {"q8_0", SPEC_TENSOR_Q8_0, SPEC_TENSOR_F32}, {"q4_0", SPEC_TENSOR_Q4_0, SPEC_TENSOR_F32},
        {"q4_1", SPEC_TENSOR_Q4_1, SPEC_TENSOR_F32}, {"bf16", SPEC_TENSOR_BF16, SPEC_TENSOR_BF16},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const spec_type_recipe *recipe = spec_type_recipe_find(known[i].recipe);
        spec_checkpoint model = model_of(9, 2, false, "llama");
        model.shape.dim = 288;
        model.shape.ffn_dim = 336;
        assert_int_equal(spec_type_recipe_type_of(recipe, &model, SPEC_PART_UP, 4),
                         known[i].of_288);
        assert_int_equal(spec_type_recipe_type_of(recipe, &model, SPEC_PART_DOWN, 4),
                         known[i].of_336);
    }
}

TEST(recipes_are_found_in_upper_and_lower_case)
{
    assert_int_equal(spec_type_recipe_find("Q4_K_M")->file_type, 15);
    assert_int_equal(spec_type_recipe_find("q4_K_s")->file_type, 14);
    assert_int_equal(spec_type_recipe_find("q5_K_M")->file_type, 17);
    assert_int_equal(spec_type_recipe_find("Q6_K")->file_type, 18);
    assert_int_equal(spec_type_recipe_find("BF16")->file_type, 32);
    assert_null(spec_type_recipe_find("q4_k_l"));
    assert_null(spec_type_recipe_find(""));
    for (int type = 0; type < SPEC_TENSOR_ALL_TYPES; type++) {
        if (type == SPEC_TENSOR_TYPES) continue;
        const spec_type_recipe *recipe = spec_type_recipe_find(spec_tensor_type_names[type]);
        assert_int_equal(recipe != NULL, spec_tensor_can_write((spec_tensor_type)type));
        if (recipe == NULL) continue;
        assert_int_equal(recipe->mixture, SPEC_MIXTURE_NONE);
        assert_int_equal(recipe->type, type);
    }
}
