#include "models/wrapper.h"

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

static size_t tokenize(const spec_model *model, const char *text, size_t length, int *token, size_t capacity)
{
    return base_of(model)->kind->tokenize(base_of(model), text, length, token, capacity);
}

static size_t prompt(const spec_model *model, unsigned long index, int *token, size_t capacity)
{
    return base_of(model)->kind->prompt(base_of(model), index, token, capacity);
}

static void close_wrapper(spec_model *model)
{
    spec_model_close(((spec_wrapper *)model)->base);
    free(model);
}

int spec_wrapper_init(spec_wrapper *wrapper, spec_model *base, spec_error *error)
{
    char *spec = strdup(base->spec);
    if (spec == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    wrapper->base = base;
    wrapper->kind = *base->kind;
    wrapper->kind.close = close_wrapper;
    wrapper->kind.load = NULL;
    wrapper->kind.session_init = NULL;
    wrapper->kind.session_free = NULL;
    wrapper->kind.session_base = NULL;
    wrapper->kind.session_share = NULL;
    wrapper->kind.score = NULL;
    wrapper->kind.score_begin = NULL;
    wrapper->kind.score_end = NULL;
    wrapper->kind.chain = NULL;
    if (base->kind->token_text != NULL) wrapper->kind.token_text = token_text;
    if (base->kind->tokenize != NULL) wrapper->kind.tokenize = tokenize;
    if (base->kind->prompt != NULL) wrapper->kind.prompt = prompt;
    wrapper->head = *base;
    wrapper->head.kind = &wrapper->kind;
    wrapper->head.spec = spec;
    return GSL_SUCCESS;
}

const spec_model *spec_wrapper_innermost(const spec_model *model)
{
    while (model->kind->close == close_wrapper) model = base_of(model);
    return model;
}
