/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_experts.h"

#include "models/transformer/files/architecture.h"

#include <limits.h>

/* In the format, two gating functions make the weights the softmax of the chosen logits: 1, a
 * softmax that is then renormalised, and 3, a softmax of only the chosen ones. */
enum { GATING_UNSET, GATING_SOFTMAX = 1, GATING_SOFTMAX_OF_CHOSEN = 3 };

#define REFUSE SPEC_GGUF_KEYS_REFUSE

/* Refuses parts that some mixtures of experts have but that we do not support. */
static int refuse_others(spec_gguf_keys *keys, bool has_shared)
{
    const struct {
        const char *rest, *what;
        int most; /* the largest value that has no effect */
    } others[] = {
        {"leading_dense_block_count", "dense blocks before the blocks with experts", 0},
        {"expert_shared_count", "shared experts", has_shared ? 1 : 0},
        {"expert_shared_feed_forward_length", "shared experts", has_shared ? INT_MAX : 0},
        {"expert_chunk_feed_forward_length", "experts of two widths", 0},
        {"expert_group_count", "groups of experts", 1},
        {"expert_group_used_count", "groups of experts", 1},
        {"interleave_moe_layer_step", "dense blocks between the blocks with experts", 1},
        {"moe_every_n_layers", "dense blocks between the blocks with experts", 1},
    };
    int status = GSL_SUCCESS, value;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        SPEC_TRY(spec_gguf_keys_integer(&value, keys, others[i].rest, 0, 0, INT_MAX));
        if (value > others[i].most)
            return REFUSE(keys, "'%s' is %d: %s are not supported", keys->key, value,
                          others[i].what);
    }
done:
    return status;
}

/* Checks that the weights of the chosen experts are the softmax of their logits. */
static int check_weights(spec_gguf_keys *keys, bool has_biases)
{
    int status = GSL_SUCCESS, gating;
    double scale;
    bool normalised;
    SPEC_TRY(spec_gguf_keys_integer(&gating, keys, "expert_gating_func", GATING_UNSET, 0, INT_MAX));
    if (gating != GATING_UNSET && gating != GATING_SOFTMAX && gating != GATING_SOFTMAX_OF_CHOSEN)
        return REFUSE(keys, "'%s' is %d: only 1 and 3, a softmax, are supported", keys->key,
                      gating);
    const bool of_chosen = gating == GATING_SOFTMAX_OF_CHOSEN || has_biases;
    SPEC_TRY(spec_gguf_keys_bool(&normalised, keys, "expert_weights_norm", true));
    if (!normalised && !of_chosen)
        return REFUSE(keys, "'%s' is false: the weights of experts must sum to 1", keys->key);
    SPEC_TRY(spec_gguf_keys_real(&scale, keys, "expert_weights_scale", 1.0));
    if (scale != 1.0 && scale != 0.0) /* files write 0 for no scale */
        return REFUSE(keys, "'%s' is %g: scaled weights of experts are not supported", keys->key,
                      scale);
done:
    return status;
}

int spec_gguf_experts_read(spec_shape *shape, const spec_architecture *architecture,
                           spec_gguf_keys *keys)
{
    int status = GSL_SUCCESS, experts;
    if (!architecture->has_experts) {
        SPEC_TRY(spec_gguf_keys_integer(&experts, keys, "expert_count", 0, 0, INT_MAX));
        if (experts > 0)
            return REFUSE(keys, "'%s' is %d: a %s model with experts is not supported", keys->key,
                          experts, architecture->name);
        return GSL_SUCCESS;
    }
    SPEC_TRY(spec_gguf_keys_need(&shape->n_experts, keys, "expert_count", 1, SPEC_EXPERTS_MAX));
    SPEC_TRY(spec_gguf_keys_need(&shape->n_active, keys, "expert_used_count", 1, SPEC_ACTIVE_MAX));
    if (shape->n_active > shape->n_experts)
        return REFUSE(keys, "a token cannot take %d of %d experts ('%s')", shape->n_active,
                      shape->n_experts, keys->key);
    SPEC_TRY(spec_gguf_keys_need(&shape->expert_dim, keys, "expert_feed_forward_length", 1,
                                 SPEC_DIM_MAX));
    const bool has_shared = spec_architecture_must(architecture, SPEC_PART_SHARED_GATE);
    if (has_shared)
        SPEC_TRY(spec_gguf_keys_need(&shape->ffn_dim, keys, "expert_shared_feed_forward_length", 1,
                                     SPEC_DIM_MAX));
    SPEC_TRY(refuse_others(keys, has_shared));
    SPEC_TRY(check_weights(keys, spec_architecture_must(architecture, SPEC_PART_ROUTER_BIAS)));
done:
    return status;
}

int spec_gguf_experts_check(const spec_gguf_tensor *tensor, const spec_gguf *gguf, spec_part part,
                            const spec_shape *shape, spec_error *error)
{
    const int n = spec_checkpoint_parts_stacked(part) ? shape->n_experts : 1;
    const int *dimension = tensor->dimension, rows = tensor->tensor.rows / n;
    if (n == 1 || (dimension[1] == rows && dimension[2] == n)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "%.300s: tensor '%.*s' is %d x %d x %d where %d experts of %d x %d belong",
                     gguf->path, SPEC_GGUF_SHOWN(tensor->name), dimension[2], dimension[1],
                     dimension[0], n, rows, dimension[0]);
}
