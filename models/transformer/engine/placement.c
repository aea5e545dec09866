/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/placement.h"

#include "models/transformer/engine/device.h"
#include "models/transformer/engine/transformer.h"

#include <stdio.h>
#include <string.h>

static const spec_backend *backend_of(const spec_model *opt_model)
{
    const spec_transformer *model = opt_model != NULL ? spec_transformer_of(opt_model) : NULL;
    return model != NULL ? model->weights->backend : NULL;
}

static bool asked_for_auto(const spec_model *opt_model)
{
    return opt_model != NULL && (strstr(opt_model->spec, "?device=auto") != NULL ||
                                 strstr(opt_model->spec, "&device=auto") != NULL);
}

static bool is_cpu(const spec_backend *opt_backend)
{
    return opt_backend != NULL && strcmp(opt_backend->name, "cpu") == 0;
}

static void add(char *text, const char *before, const spec_backend *opt_backend)
{
    const size_t used = strlen(text);
    if (opt_backend == NULL) return;
    snprintf(text + used, SPEC_PLACEMENT_SIZE - used, "%s%s on %s (%.200s)", used > 0 ? ", " : "",
             before, opt_backend->name, opt_backend->device);
}

/* Appends why there is no GPU, or why the first one cannot be used. */
static void add_reason(char *text, spec_context *opt_context)
{
    static const char useless[] = "  cannot be used: "; /* these words follow the name of the GPU */
    char line[600];
    const size_t used = strlen(text);
    spec_device_describe(line, sizeof line, opt_context, 1);
    const char *found = strstr(line, useless);
    snprintf(text + used, SPEC_PLACEMENT_SIZE - used, "; auto found no card: %s",
             found != NULL ? found + strlen(useless) : line);
}

bool spec_placement_text(char *text, const spec_model *target, const spec_model *opt_draft)
{
    const spec_backend *of_target = backend_of(target), *of_draft = backend_of(opt_draft);
    text[0] = '\0';
    add(text, "target", of_target);
    add(text, "draft", of_draft);
    if (asked_for_auto(target) && is_cpu(of_target))
        add_reason(text, of_target->opt_context);
    else if (asked_for_auto(opt_draft) && is_cpu(of_draft))
        add_reason(text, of_draft->opt_context);
    return text[0] != '\0';
}

bool spec_placement_is_told(const spec_model *target, const spec_model *opt_draft)
{
    const spec_backend *of_target = backend_of(target), *of_draft = backend_of(opt_draft);
    return asked_for_auto(target) || asked_for_auto(opt_draft) ||
           (of_target != NULL && !is_cpu(of_target)) || (of_draft != NULL && !is_cpu(of_draft));
}
