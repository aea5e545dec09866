/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/wrapper.h"

#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

static const spec_model *base_of(const spec_model *model)
{
    return ((const spec_wrapper *)model)->base;
}

static size_t token_text(const spec_model *model, int token, char *buffer, size_t size)
{
    return base_of(model)->kind->token_text(base_of(model), token, buffer, size);
}

static size_t tokenize(const spec_model *model, const char *text, size_t length, int *token,
                       size_t capacity)
{
    return base_of(model)->kind->tokenize(base_of(model), text, length, token, capacity);
}

static size_t prompt(const spec_model *model, uint64_t index, int *token, size_t capacity)
{
    return base_of(model)->kind->prompt(base_of(model), index, token, capacity);
}

static int load(spec_model *model, const spec_model *opt_target, spec_error *error)
{
    return spec_model_load(((spec_wrapper *)model)->base, opt_target, error);
}

static void close_wrapper(spec_model *model)
{
    spec_wrapper *wrapper = (spec_wrapper *)model;
    if (wrapper->release != NULL) wrapper->release(model);
    spec_model_close(wrapper->base);
    free(model);
}

int spec_wrapper_init(spec_wrapper *wrapper, spec_model *base, spec_error *error)
{
    char *spec = strdup(base->spec);
    if (spec == NULL) return spec_no_memory(error);
    wrapper->base = base;
    wrapper->release = NULL;
    const spec_model_kind *kind = base->kind;
    wrapper->kind = (spec_model_kind){
        .name = kind->name,
        .usage = kind->usage,
        .summary = kind->summary,
        .reference = kind->reference,
        .needs_target = kind->needs_target,
        .reads_target = kind->reads_target,
        .rows_by_round = kind->rows_by_round,
        .applies_temperature = kind->applies_temperature,
        .close = close_wrapper,
        .load = kind->load != NULL ? load : NULL,
        .token_text = kind->token_text != NULL ? token_text : NULL,
        .tokenize = kind->tokenize != NULL ? tokenize : NULL,
        .prompt = kind->prompt != NULL ? prompt : NULL,
    };
    wrapper->head = *base;
    wrapper->head.kind = &wrapper->kind;
    wrapper->head.spec = spec;
    return GSL_SUCCESS;
}

const spec_model *spec_wrapper_base(const spec_model *model)
{
    return model->kind->close == close_wrapper ? base_of(model) : NULL;
}

const spec_model *spec_wrapper_innermost(const spec_model *model)
{
    while (model->kind->close == close_wrapper) model = base_of(model);
    return model;
}
