/* SPDX-License-Identifier: GPL-3.0-or-later */
/* type_recipe: decides the type of each matrix when a model is written in fewer bits.
 * A recipe is one type for all, or one of llama.cpp's mixtures, which give more bits to tensors
 * that matter more. The rules are those of llama-quantize without an importance matrix. */
#ifndef SPECLAB_TYPE_RECIPE_H
#define SPECLAB_TYPE_RECIPE_H

#include "models/transformer/files/checkpoint_parts.h"

/* The mixtures, whose rules come on top of those of the type. */
typedef enum {
    SPEC_MIXTURE_NONE,  /* one type for all */
    SPEC_MIXTURE_SMALL, /* q4_k_s, q5_k_s */
    SPEC_MIXTURE_MEDIUM /* q4_k_m, q5_k_m */
} spec_mixture;

typedef struct {
    const char *name;      /* such as "q4_k_m" */
    spec_tensor_type type; /* of most matrices */
    spec_mixture mixture;
    uint32_t file_type; /* GGUF's general.file_type */
} spec_type_recipe;

extern const spec_type_recipe spec_type_recipes[]; /* ends with a NULL name */

/* Returns the recipe with a name in upper or lower case, or NULL. Each type that can be written has
 * a recipe of the same name. */
const spec_type_recipe *spec_type_recipe_find(const char *name);

/* Returns the type of a part's tensor in a layer. F32: vectors, routers, and rows that are not a
 * multiple of 32 in a type with blocks of 32. Rows that are not a multiple of 256 get Q5_0, Q5_1 or
 * Q8_0 for Q4_K, Q5_K or Q6_K, or F16 if they are not a multiple of 32 either. In a mixture: Q6_K
 * for the output, a tied embedding, and values and down projections in some layers (medium); Q5_K
 * in the first layers (q4_k_s). There are exceptions for models with eight experts or 80 layers. */
spec_tensor_type spec_type_recipe_type_of(const spec_type_recipe *recipe,
                                          const spec_checkpoint *model, spec_part part, int layer);

#endif
