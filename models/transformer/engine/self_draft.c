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

/* Remove the layers that a list such as "3.5" names. */
static int skip_layers(spec_transformer *model, const char *text, int exit, spec_error *error)
{
    int layer, n = 0;
    const size_t length = strlen(text);
    for (size_t at = 0; at <= length;) {
        const int status = spec_settings_list_int(&layer, &at, "skip", text, 0, exit - 1, error);
        if (status != GSL_SUCCESS) return status;
        model->layer[layer] = -1;
    }
    for (int i = 0; i < exit; i++)
        if (model->layer[i] >= 0) model->layer[n++] = model->layer[i];
    model->n_layers = n;
    return n > 0
               ? GSL_SUCCESS
               : spec_fail(error, GSL_EINVAL, "skip=%.80s: leaves no layer of the %d", text, exit);
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
    SPEC_TRY(spec_settings_int(&exit, settings, "exit", 0, 0, model->n_layers, error));
    if (exit == 0) exit = model->n_layers;
    model->n_layers = exit;
    const char *skipped = spec_settings_text(settings, "skip");
    if (skipped != NULL && strcmp(skipped, "none") != 0)
        SPEC_TRY(skip_layers(model, skipped, exit, error));
    *ret_model = &model->head;
    model = NULL;
done:
    if (model != NULL) spec_transformer_close(&model->head);
    return status;
}

/* ---- quantised ------------------------------------------------------------------------------- */

/* Open the named device, or use the target's. */
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
