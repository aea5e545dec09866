/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_experts.h"

#include "models/transformer/files/gguf_value.h"

#include <limits.h>

enum { KEY_SIZE = 96 };

/* The gating functions of the format whose weights are the softmax of the chosen logits: 1, a
 * softmax that is renormalised, and 3, a softmax of the chosen. */
enum { GATING_UNSET, GATING_SOFTMAX = 1, GATING_SOFTMAX_OF_CHOSEN = 3 };

typedef struct {
    const spec_gguf *gguf;
    const char *architecture;
    char key[KEY_SIZE];
    spec_error *error;
} asker;

#define REFUSE(ask, format, ...)                                                                   \
    spec_fail((ask)->error, GSL_EINVAL, "%.300s: " format, (ask)->gguf->path, __VA_ARGS__)

static const char *key_of(asker *ask, const char *rest)
{
    snprintf(ask->key, sizeof ask->key, "%s.%s", ask->architecture, rest);
    return ask->key;
}

static int may(int *ret_value, asker *ask, const char *rest, int fallback)
{
    return spec_gguf_value_integer(ret_value, ask->gguf, key_of(ask, rest), fallback, 0, INT_MAX,
                                   ask->error);
}

static int need(int *ret_value, asker *ask, const char *rest, int most)
{
    const char *key = key_of(ask, rest);
    if (spec_gguf_value_find(ask->gguf, key) == NULL)
        return REFUSE(ask, "lacks the value of '%s'", key);
    return spec_gguf_value_integer(ret_value, ask->gguf, key, 0, 1, most, ask->error);
}

/* Refuse parts that a mixture of experts may have elsewhere, and has not here. */
static int refuse_others(asker *ask)
{
    static const struct {
        const char *rest, *what;
        int most; /* that changes nothing */
    } others[] = {
        {"leading_dense_block_count", "blocks without experts before those with", 0},
        {"expert_shared_count", "experts that every token takes", 0},
        {"expert_shared_feed_forward_length", "experts that every token takes", 0},
        {"expert_chunk_feed_forward_length", "experts of two widths", 0},
        {"expert_group_count", "groups of experts", 1},
        {"expert_group_used_count", "groups of experts", 1},
        {"interleave_moe_layer_step", "blocks without experts between those with", 1},
        {"moe_every_n_layers", "blocks without experts between those with", 1},
    };
    int status = GSL_SUCCESS, value;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        SPEC_TRY(may(&value, ask, others[i].rest, 0));
        if (value > others[i].most)
            return REFUSE(ask, "'%s' is %d: %s are not computed", ask->key, value, others[i].what);
    }
done:
    return status;
}

/* The weights of the chosen experts must be the softmax of their logits. */
static int check_weights(asker *ask, bool has_biases)
{
    int status = GSL_SUCCESS, gating;
    double scale;
    bool normalised;
    SPEC_TRY(may(&gating, ask, "expert_gating_func", GATING_UNSET));
    if (gating != GATING_UNSET && gating != GATING_SOFTMAX && gating != GATING_SOFTMAX_OF_CHOSEN)
        return REFUSE(ask, "'%s' is %d: only 1 and 3, a softmax, are computed", ask->key, gating);
    const bool of_chosen = gating == GATING_SOFTMAX_OF_CHOSEN || has_biases;
    SPEC_TRY(spec_gguf_value_bool(&normalised, ask->gguf, key_of(ask, "expert_weights_norm"), true,
                                  ask->error));
    if (!normalised && !of_chosen)
        return REFUSE(ask,
                      "'%s' is false: weights of experts that do not add to 1 are not computed",
                      ask->key);
    SPEC_TRY(spec_gguf_value_real(&scale, ask->gguf, key_of(ask, "expert_weights_scale"), 1.0,
                                  ask->error));
    if (scale != 1.0 && scale != 0.0) /* 0 is written for none */
        return REFUSE(ask, "'%s' is %g: scaled weights of experts are not computed", ask->key,
                      scale);
done:
    return status;
}

int spec_gguf_experts_read(spec_shape *shape, const spec_gguf *gguf,
                           const spec_architecture *architecture, spec_error *error)
{
    int status = GSL_SUCCESS, experts;
    asker ask = {.gguf = gguf, .architecture = architecture->name, .error = error};
    if (!architecture->has_experts) {
        SPEC_TRY(may(&experts, &ask, "expert_count", 0));
        if (experts > 0)
            return REFUSE(&ask, "'%s' is %d: a %s model with experts is not computed", ask.key,
                          experts, architecture->name);
        return GSL_SUCCESS;
    }
    SPEC_TRY(need(&shape->n_experts, &ask, "expert_count", SPEC_EXPERTS_MAX));
    SPEC_TRY(need(&shape->n_active, &ask, "expert_used_count", SPEC_ACTIVE_MAX));
    if (shape->n_active > shape->n_experts)
        return REFUSE(&ask, "a token cannot take %d of %d experts ('%s')", shape->n_active,
                      shape->n_experts, ask.key);
    SPEC_TRY(need(&shape->expert_dim, &ask, "expert_feed_forward_length", SPEC_DIM_MAX));
    SPEC_TRY(refuse_others(&ask));
    SPEC_TRY(check_weights(&ask, (architecture->must >> SPEC_PART_ROUTER_BIAS & 1) != 0));
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
