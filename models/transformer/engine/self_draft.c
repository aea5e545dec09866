/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/self_draft.h"

#include "models/transformer/engine/device.h"
#include "models/transformer/engine/transformer.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

static int begin(spec_transformer **ret_model, const spec_transformer **ret_target,
                 spec_settings *settings, const spec_model *opt_target, spec_error *error)
{
    static const char *const of[] = {"target", NULL};
    int status = GSL_SUCCESS, unused;
    SPEC_TRY(spec_settings_choice(&unused, settings, "of", 0, of, error));
    *ret_target = spec_transformer_of(opt_target);
    if (*ret_target == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%s needs a transformer as its target, which this is not: %.80s",
                           settings->name, opt_target->spec));
    *ret_model = calloc(1, sizeof **ret_model);
    if (*ret_model == NULL) SPEC_TRY(spec_no_memory(error));
done:
    return status;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Drops the sublayers that a list such as "3.5a" names from those of the first `exit` layers. */
static int skip_sublayers(spec_transformer *model, const char *text, int exit, spec_error *error)
{
    int n = 0;
    for (const char *at = text;; at++) {
        const size_t size = strcspn(at, ".");
        const char last = size > 0 ? at[size - 1] : '\0';
        const size_t digits = last == 'a' || last == 'f' ? size - 1 : size;
        char word[8] = "";
        int layer;
        if (digits < sizeof word) memcpy(word, at, digits);
        if (!spec_settings_parse_int(&layer, word) || layer < 0 || layer >= exit)
            return spec_fail(error, GSL_EINVAL,
                             "skip=%.80s: '%.*s' is not a layer from 0 to %d; write layers as in "
                             "3.5, only the attention as in 3a, only the feed-forward network as "
                             "in 5f",
                             text, size < 80 ? (int)size : 80, at, exit - 1);
        if (last != 'f') model->sublayer[2 * layer] = -1;
        if (last != 'a') model->sublayer[2 * layer + 1] = -1;
        at += size;
        if (*at == '\0') break;
    }
    for (int i = 0; i < 2 * exit; i++)
        if (model->sublayer[i] >= 0) model->sublayer[n++] = model->sublayer[i];
    model->n_sublayers = n;
    return n > 0 ? GSL_SUCCESS
                 : spec_fail(error, GSL_EINVAL,
                             "skip=%.80s: none of the %d layers is left; skip fewer", text, exit);
}

static int read_window(spec_transformer *model, const spec_settings *settings, spec_error *error)
{
    const spec_backend *backend = model->weights->backend;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&model->window, settings, "window", 0, 0, SPEC_CONTEXT_MAX, error));
    SPEC_TRY(spec_settings_int(&model->sink, settings, "sink", 4, 0, SPEC_CONTEXT_MAX, error));
    if (model->window == 0 && spec_settings_text(settings, "sink") != NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "sink=%d: without a window the draft reads the whole context; give "
                           "window=N, too",
                           model->sink));
    if (model->window > 0 && !backend->computes_all)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "window=%d: %s (%s) attends to the whole context only; open the target "
                           "with device=cpu",
                           model->window, backend->name, backend->device));
done:
    return status;
}

int spec_self_draft_layers_open(spec_model **ret_model, spec_settings *settings,
                                const spec_model *opt_target, spec_context *opt_context,
                                spec_error *error)
{
    const spec_transformer *target;
    spec_transformer *model = NULL;
    int status = GSL_SUCCESS, exit;
    (void)opt_context;
    *ret_model = NULL;
    SPEC_TRY(begin(&model, &target, settings, opt_target, error));
    SPEC_TRY(spec_transformer_init(model, target->checkpoint, target->weights, settings, error));
    model->kv_type = target->kv_type;
    const int n_layers = target->checkpoint->shape.n_layers;
    SPEC_TRY(spec_settings_int(&exit, settings, "exit", 0, 0, n_layers, error));
    if (exit == 0) exit = n_layers;
    model->n_sublayers = 2 * exit;
    const char *skipped = spec_settings_text(settings, "skip");
    if (skipped != NULL && strcmp(skipped, "none") != 0)
        SPEC_TRY(skip_sublayers(model, skipped, exit, error));
    SPEC_TRY(read_window(model, settings, error));
    *ret_model = &model->head;
    model = NULL;
done:
    if (model != NULL) spec_transformer_close(&model->head);
    return status;
}

/* ---- quantised ------------------------------------------------------------------------------- */

/* Opens the named device, or uses the target's. */
static int choose_device(const spec_backend **ret_backend, spec_transformer *model,
                         const spec_transformer *target, const spec_settings *settings,
                         spec_context *opt_context, spec_error *error)
{
    const char *name = spec_settings_text(settings, "device");
    *ret_backend = target->weights->backend;
    if (name == NULL || strcmp(name, "target") == 0) return GSL_SUCCESS;
    const int status = spec_device_read(&model->own_device, opt_context, settings, error);
    *ret_backend = model->own_device;
    return status;
}

int spec_self_draft_quantised_open(spec_model **ret_model, spec_settings *settings,
                                   const spec_model *opt_target, spec_context *opt_context,
                                   spec_error *error)
{
    const spec_transformer *target;
    const spec_backend *backend;
    spec_transformer *model = NULL;
    int status = GSL_SUCCESS, type;
    *ret_model = NULL;
    SPEC_TRY(begin(&model, &target, settings, opt_target, error));
    SPEC_TRY(spec_settings_choice(&type, settings, "type", SPEC_TENSOR_Q8_0, spec_tensor_type_names,
                                  error));
    SPEC_TRY(choose_device(&backend, model, target, settings, opt_context, error));
    if (!spec_tensor_can_write((spec_tensor_type)type))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "type=%s: weights are not converted to it",
                           spec_tensor_type_names[type]));
    if (backend->computed_type((spec_tensor_type)type) != (spec_tensor_type)type)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "type=%s: %s (%s) has no products with it: open the draft with "
                           "device=cpu",
                           spec_tensor_type_names[type], backend->name, backend->device));
    SPEC_TRY(spec_transformer_plan_weights(model, target->checkpoint, (spec_tensor_type)type,
                                           backend, settings, error));
    SPEC_TRY(
        spec_transformer_init(model, target->checkpoint, &model->own_weights, settings, error));
    *ret_model = &model->head;
    model = NULL;
done:
    if (model != NULL) spec_transformer_close(&model->head);
    return status;
}
