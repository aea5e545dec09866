/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/type_recipe.h"

#include "models/transformer/files/architecture.h"

#include <string.h>
#include <strings.h>

/* The first recipe of a type uses only that type. */
const spec_type_recipe spec_type_recipes[] = {
    {"q8_0", SPEC_TENSOR_Q8_0, SPEC_MIXTURE_NONE, 7},
    {"q6_k", SPEC_TENSOR_Q6_K, SPEC_MIXTURE_NONE, 18},
    {"q5_k", SPEC_TENSOR_Q5_K, SPEC_MIXTURE_NONE, 16},
    {"q4_k", SPEC_TENSOR_Q4_K, SPEC_MIXTURE_NONE, 14},
    {"q5_k_m", SPEC_TENSOR_Q5_K, SPEC_MIXTURE_MEDIUM, 17},
    {"q5_k_s", SPEC_TENSOR_Q5_K, SPEC_MIXTURE_SMALL, 16},
    {"q4_k_m", SPEC_TENSOR_Q4_K, SPEC_MIXTURE_MEDIUM, 15},
    {"q4_k_s", SPEC_TENSOR_Q4_K, SPEC_MIXTURE_SMALL, 14},
    {"q5_1", SPEC_TENSOR_Q5_1, SPEC_MIXTURE_NONE, 9},
    {"q5_0", SPEC_TENSOR_Q5_0, SPEC_MIXTURE_NONE, 8},
    {"q4_1", SPEC_TENSOR_Q4_1, SPEC_MIXTURE_NONE, 3},
    {"q4_0", SPEC_TENSOR_Q4_0, SPEC_MIXTURE_NONE, 2},
    {"bf16", SPEC_TENSOR_BF16, SPEC_MIXTURE_NONE, 32},
    {"f16", SPEC_TENSOR_F16, SPEC_MIXTURE_NONE, 1},
    {"f32", SPEC_TENSOR_F32, SPEC_MIXTURE_NONE, 0},
    {NULL, SPEC_TENSOR_TYPES, SPEC_MIXTURE_NONE, 0},
};

const spec_type_recipe *spec_type_recipe_find(const char *name)
{
    for (const spec_type_recipe *recipe = spec_type_recipes; recipe->name != NULL; recipe++)
        if (strcasecmp(recipe->name, name) == 0) return recipe;
    return NULL;
}

/* Returns whether a layer is in the first or last eighth, or is every third one in between. */
static bool uses_more_bits(int layer, int n_layers)
{
    const int eighth = n_layers / 8;
    return layer < eighth || layer >= 7 * n_layers / 8 || (layer - eighth) % 3 == 2;
}

/* Returns whether this is a model of 70 billion weights, in which few key-value heads serve many
 * queries. */
static bool has_80_layers(const spec_checkpoint *model)
{
    const spec_shape *shape = &model->shape;
    const char *family = spec_architecture_of(model)->name;
    return shape->n_layers == 80 &&
           (strcmp(family, "qwen2") == 0 ||
            (strcmp(family, "llama") == 0 && shape->n_heads != shape->n_kv_heads));
}

static spec_tensor_type type_of_values(const spec_type_recipe *recipe, const spec_checkpoint *model,
                                       int layer)
{
    spec_tensor_type type = recipe->type;
    if (recipe->mixture == SPEC_MIXTURE_MEDIUM && uses_more_bits(layer, model->shape.n_layers))
        type = SPEC_TENSOR_Q6_K;
    else if (recipe->mixture == SPEC_MIXTURE_SMALL && layer < 4)
        type = SPEC_TENSOR_Q5_K;
    if (type == SPEC_TENSOR_Q4_K && has_80_layers(model)) type = SPEC_TENSOR_Q5_K;
    return model->shape.n_experts == 8 ? SPEC_TENSOR_Q8_0 : type;
}

static spec_tensor_type type_of_down(const spec_type_recipe *recipe, int n_layers, int layer)
{
    if (recipe->mixture == SPEC_MIXTURE_MEDIUM && uses_more_bits(layer, n_layers))
        return SPEC_TENSOR_Q6_K;
    if (recipe->mixture == SPEC_MIXTURE_SMALL && layer < n_layers / 8) return SPEC_TENSOR_Q5_K;
    return recipe->type;
}

/* Returns the type, without checking whether its blocks divide the rows. */
static spec_tensor_type wanted_type(const spec_type_recipe *recipe, const spec_checkpoint *model,
                                    spec_part part, int layer)
{
    const bool has_8_experts = model->shape.n_experts == 8,
               is_tied = model->output.data == model->embedding.data;
    if (recipe->mixture == SPEC_MIXTURE_NONE) return recipe->type;
    switch (part) {
    case SPEC_PART_OUTPUT: return SPEC_TENSOR_Q6_K;
    case SPEC_PART_EMBEDDING: return is_tied ? SPEC_TENSOR_Q6_K : recipe->type;
    case SPEC_PART_VALUE: return type_of_values(recipe, model, layer);
    case SPEC_PART_KEY: return has_8_experts ? SPEC_TENSOR_Q8_0 : recipe->type;
    case SPEC_PART_ATTENTION_OUTPUT: return has_8_experts ? SPEC_TENSOR_Q5_K : recipe->type;
    case SPEC_PART_DOWN:
    case SPEC_PART_EXPERT_DOWN: return type_of_down(recipe, model->shape.n_layers, layer);
    default: return recipe->type;
    }
}

static spec_tensor_type fallback_of(spec_tensor_type type, int cols)
{
    spec_tensor_type smaller;
    if (spec_tensor_row_bytes(type, cols) > 0) return type;
    switch (type) {
    case SPEC_TENSOR_Q4_K: smaller = SPEC_TENSOR_Q5_0; break;
    case SPEC_TENSOR_Q5_K: smaller = SPEC_TENSOR_Q5_1; break;
    case SPEC_TENSOR_Q6_K: smaller = SPEC_TENSOR_Q8_0; break;
    default: return SPEC_TENSOR_F32;
    }
    return spec_tensor_row_bytes(smaller, cols) > 0 ? smaller : SPEC_TENSOR_F16;
}

spec_tensor_type spec_type_recipe_type_of(const spec_type_recipe *recipe,
                                          const spec_checkpoint *model, spec_part part, int layer)
{
    int rows, cols;
    if (spec_checkpoint_parts_stays_float(part)) return SPEC_TENSOR_F32;
    spec_checkpoint_parts_shape(&rows, &cols, part, &model->shape);
    return fallback_of(wanted_type(recipe, model, part, layer), cols);
}
