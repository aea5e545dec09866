/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/checkpoint.h"

#include "models/model.h"

#include <math.h>
#include <stdlib.h>

/* What a check of bounds needs to write its error line, which begins with the file. */
typedef struct {
    const char *path;
    spec_error *error;
} asker;

static int check(const asker *to, const char *name, int value, int most)
{
    if (value >= 1 && value <= most) return GSL_SUCCESS;
    return spec_fail(to->error, GSL_EINVAL, "%.300s: %s is %d, which is not between 1 and %d",
                     to->path, name, value, most);
}

static int check_rope(const asker *to, const spec_rope *rope, int head_dim)
{
    if (!(rope->base >= 1.0 && rope->base <= 1e15))
        return spec_fail(to->error, GSL_EINVAL,
                         "%.300s: the base of the rotary embedding is %g, which is not between 1 "
                         "and 1e15",
                         to->path, rope->base);
    for (int i = 0; rope->opt_factor != NULL && i < head_dim / 2; i++) {
        const double factor = (double)rope->opt_factor[i];
        if (!(factor > 0.0 && isfinite(factor)))
            return spec_fail(to->error, GSL_EINVAL,
                             "%.300s: factor %d of the rotary embedding is %g, not a positive "
                             "number",
                             to->path, i, factor);
    }
    return GSL_SUCCESS;
}

int spec_checkpoint_rotated(const spec_shape *shape)
{
    return shape->rotated > 0 ? shape->rotated : shape->head_dim;
}

int spec_checkpoint_channels(const spec_delta_shape *delta)
{
    return 2 * delta->n_key_heads * delta->key_dim + delta->n_value_heads * delta->value_dim;
}

static int check_delta(const asker *to, const spec_shape *shape)
{
    int status = GSL_SUCCESS;
    const spec_delta_shape *delta = &shape->delta;
    SPEC_TRY(check(to, "the number of recurrent layers", delta->n_layers, shape->n_layers - 1));
    SPEC_TRY(check(to, "the number of value heads", delta->n_value_heads, SPEC_DIM_MAX));
    SPEC_TRY(check(to, "the number of key heads", delta->n_key_heads, delta->n_value_heads));
    SPEC_TRY(check(to, "the width of a recurrent key", delta->key_dim, SPEC_HEAD_DIM_MAX));
    SPEC_TRY(check(to, "the width of a recurrent value", delta->value_dim, SPEC_HEAD_DIM_MAX));
    SPEC_TRY(check(to, "the width of the convolution", delta->kernel, SPEC_DELTA_KERNEL_MAX));
    if (delta->n_value_heads % delta->n_key_heads != 0)
        return spec_fail(to->error, GSL_EINVAL,
                         "%.300s: %d value heads cannot share %d key heads evenly", to->path,
                         delta->n_value_heads, delta->n_key_heads);
    SPEC_TRY(check(to, "the width of the recurrent layers", spec_checkpoint_channels(delta),
                   SPEC_DIM_MAX));
done:
    return status;
}

int spec_checkpoint_check_shape(const spec_shape *shape, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    const asker to = {path, error};
    SPEC_TRY(check(&to, "the embedding's width", shape->dim, SPEC_DIM_MAX));
    if (shape->n_experts == 0) {
        SPEC_TRY(check(&to, "the feed-forward width", shape->ffn_dim, SPEC_DIM_MAX));
    } else {
        SPEC_TRY(check(&to, "the number of experts", shape->n_experts, SPEC_EXPERTS_MAX));
        SPEC_TRY(check(&to, "the number of experts of a token", shape->n_active,
                       shape->n_experts < SPEC_ACTIVE_MAX ? shape->n_experts : SPEC_ACTIVE_MAX));
        SPEC_TRY(
            check(&to, "the feed-forward width of an expert", shape->expert_dim, SPEC_DIM_MAX));
        if (shape->ffn_dim != 0)
            SPEC_TRY(check(&to, "the width of the expert that every token takes", shape->ffn_dim,
                           SPEC_DIM_MAX));
    }
    SPEC_TRY(check(&to, "the number of layers", shape->n_layers, SPEC_LAYERS_MAX));
    SPEC_TRY(check(&to, "the number of heads", shape->n_heads, SPEC_DIM_MAX));
    SPEC_TRY(check(&to, "the number of key-value heads", shape->n_kv_heads, shape->n_heads));
    SPEC_TRY(check(&to, "the width of a head", shape->head_dim, SPEC_HEAD_DIM_MAX));
    SPEC_TRY(check(&to, "the vocabulary", shape->vocab, SPEC_VOCAB_MAX));
    if (shape->context < 2 || shape->context > SPEC_CONTEXT_MAX)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: the context is %d positions, which is not between 2 and %d", path,
                         shape->context, SPEC_CONTEXT_MAX);
    if (shape->n_heads % shape->n_kv_heads != 0)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: %d heads cannot share %d key-value heads evenly", path,
                         shape->n_heads, shape->n_kv_heads);
    if (shape->head_dim % 2 != 0)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: the width of a head is %d, which is odd: rotary embedding pairs "
                         "its dimensions",
                         path, shape->head_dim);
    if (shape->n_heads * shape->head_dim > SPEC_DIM_MAX)
        return spec_fail(error, GSL_EINVAL, "%.300s: %d heads of width %d are wider than %d", path,
                         shape->n_heads, shape->head_dim, SPEC_DIM_MAX);
    if (shape->rotated < 0 || shape->rotated > shape->head_dim || shape->rotated % 2 != 0)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: %d of the %d dimensions of a head cannot rotate in pairs", path,
                         shape->rotated, shape->head_dim);
    if (shape->delta.n_layers > 0) SPEC_TRY(check_delta(&to, shape));
    if (!(shape->norm_eps >= 0.0f && shape->norm_eps <= 1.0f))
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: the norm's epsilon is %g, which is not between 0 and 1", path,
                         (double)shape->norm_eps);
    SPEC_TRY(check_rope(&to, &shape->rope, spec_checkpoint_rotated(shape)));
    if (shape->window > 0) SPEC_TRY(check_rope(&to, &shape->window_rope, shape->head_dim));
done:
    return status;
}

int spec_checkpoint_tokenizer(spec_checkpoint *checkpoint, const spec_tokenizer_data *data,
                              const char *path, spec_error *error)
{
    spec_error reason = {""};
    const int status = spec_tokenizer_init(&checkpoint->opt_tokenizer, data, &reason);
    if (status == GSL_SUCCESS) return status;
    return spec_fail(error, status, "%.200s: %.300s", path, reason.text);
}

int spec_checkpoint_context(spec_checkpoint *checkpoint, const spec_settings *settings,
                            spec_error *error)
{
    int most;
    const int status = spec_settings_int(&most, settings, "context", 0, 0, SPEC_CONTEXT_MAX, error);
    if (most == 1)
        return spec_fail(error, GSL_EINVAL, "%.80s: context=1 leaves no room for a text",
                         settings->name);
    if (most > 0 && most < checkpoint->shape.context) checkpoint->shape.context = most;
    return status;
}

void spec_checkpoint_draw(spec_checkpoint *checkpoint)
{
    if (checkpoint->opt_draw != NULL) checkpoint->opt_draw(checkpoint);
    checkpoint->opt_draw = NULL;
}

void spec_checkpoint_free(spec_checkpoint *checkpoint)
{
    free(checkpoint->layer);
    free(checkpoint->nextn);
    spec_tokenizer_free(checkpoint->opt_tokenizer);
    if (checkpoint->owned != NULL) checkpoint->free_owned(checkpoint->owned);
    *checkpoint = (spec_checkpoint){0};
}
