/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/transformer.h"

#include "models/transformer/engine/device.h"
#include "models/transformer/files/architecture.h"
#include "models/wrapper.h"
#include "speclab/round.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int spec_transformer_init(spec_transformer *model, const spec_checkpoint *checkpoint,
                          const spec_weights *weights, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_shape *shape = &checkpoint->shape;
    model->checkpoint = checkpoint;
    model->weights = weights;
    model->context = shape->context;
    SPEC_TRY(
        spec_settings_double(&model->temperature, settings, "temperature", 1.0, 0.0, 1e9, error));
    model->head.vocab = shape->vocab;
    model->head.order = -1;
    model->head.ends = checkpoint->ends;
    model->head.window = model->context - (checkpoint->adds_begin ? 1 : 0);
    model->head.one_hot = model->temperature == 0.0;
    model->n_sublayers = 2 * shape->n_layers;
    model->sublayer = malloc((size_t)model->n_sublayers * sizeof *model->sublayer);
    if (model->sublayer == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for %d layers", shape->n_layers));
    for (int i = 0; i < model->n_sublayers; i++) model->sublayer[i] = i;
done:
    return status;
}

int spec_transformer_plan_weights(spec_transformer *model, const spec_checkpoint *checkpoint,
                                  spec_tensor_type type, const spec_backend *backend,
                                  const spec_settings *settings, spec_error *error)
{
    model->own_weights = (spec_weights){.backend = backend, .shape = checkpoint->shape};
    model->type = type;
    const int status = backend->computes_all
                           ? GSL_SUCCESS
                           : spec_architecture_need_plain(checkpoint, backend->name,
                                                          "open it with device=cpu", error);
    if (status != GSL_SUCCESS) return status;
    return spec_memory_budget_choose_kv(&model->kv_type, backend, checkpoint, type, settings,
                                        error);
}

spec_memory_budget_need spec_transformer_memory(const spec_model *opt_model, int texts, int passes,
                                                int laws)
{
    const spec_transformer *model = opt_model != NULL ? spec_transformer_of(opt_model) : NULL;
    if (model == NULL) return (spec_memory_budget_need){0};
    const spec_backend *backend = model->weights->backend;
    const spec_shape *shape = &model->checkpoint->shape;
    const size_t text =
        backend->piece(backend->kv_bytes(shape, model->kv_type, model->context + SPEC_NODES_MAX));
    const bool loads = model->weights == &model->own_weights && model->weights->layer == NULL;
    bool unused;
    return (spec_memory_budget_need){
        .backend = backend,
        .weights = loads ? spec_weights_bytes(&unused, model->checkpoint, model->type, backend) : 0,
        .texts = (size_t)texts * text,
        .passes = (size_t)passes * spec_forward_bytes(backend, shape),
        .laws = laws > 0 && backend->law_bytes != NULL
                    ? (size_t)laws * backend->piece(backend->law_bytes(shape->vocab))
                    : 0,
        .n_texts = texts,
        .n_passes = passes,
        .context = model->context,
    };
}

int spec_transformer_load(spec_model *head, const spec_model *opt_target, spec_error *error)
{
    spec_transformer *model = (spec_transformer *)head;
    int status = GSL_SUCCESS;
    if (model->weights != &model->own_weights || model->own_weights.layer != NULL) return status;
    const spec_memory_budget_need need[] = {spec_transformer_memory(head, 1, 1, 0),
                                            spec_transformer_memory(opt_target, 1, 1, 0)};
    SPEC_TRY(spec_memory_budget_check(need, 2, error));
    if (model->checkpoint == &model->own_checkpoint) spec_checkpoint_draw(&model->own_checkpoint);
    SPEC_TRY(spec_weights_init(&model->own_weights, model->checkpoint, model->type,
                               model->own_weights.backend, error));
done:
    return status;
}

int spec_transformer_replace(spec_transformer *model, const spec_checkpoint *from,
                             spec_error *error)
{
    spec_weights fresh;
    assert(model->weights == &model->own_weights && model->own_weights.layer != NULL);
    const int status =
        spec_weights_init(&fresh, from, model->type, model->own_weights.backend, error);
    if (status != GSL_SUCCESS) return status;
    /* not the shape of `from`, whose rope factors may be freed earlier */
    fresh.shape = model->own_weights.shape;
    spec_weights_free(&model->own_weights);
    model->own_weights = fresh;
    model->replacements++;
    return GSL_SUCCESS;
}

void spec_transformer_close(spec_model *head)
{
    spec_transformer *model = (spec_transformer *)head;
    spec_weights_free(&model->own_weights);
    spec_checkpoint_free(&model->own_checkpoint);
    spec_device_close(model->own_device);
    free(model->sublayer);
    free(model);
}

const spec_transformer *spec_transformer_of(const spec_model *model)
{
    model = spec_wrapper_innermost(model);
    return model->kind->close == spec_transformer_close ? (const spec_transformer *)model : NULL;
}

int spec_transformer_text(const spec_transformer *model, int *ret_text, size_t *ret_n,
                          const int *context, size_t n, spec_error *error)
{
    const spec_checkpoint *checkpoint = model->checkpoint;
    size_t begin = 0;
    if (n > (size_t)model->head.window)
        return spec_fail(error, GSL_EINVAL,
                         "a text of %zu tokens is too long: the model's context is %d", n,
                         model->head.window);
    if (checkpoint->adds_begin || n == 0) ret_text[begin++] = checkpoint->begin_of_text;
    if (n > 0) memcpy(ret_text + begin, context, n * sizeof *context);
    *ret_n = begin + n;
    return GSL_SUCCESS;
}

size_t spec_transformer_token_text(const spec_model *head, int token, char *buffer, size_t size)
{
    const spec_tokenizer *tokenizer = ((const spec_transformer *)head)->checkpoint->opt_tokenizer;
    if (tokenizer != NULL) return spec_tokenizer_text(tokenizer, token, buffer, size);
    return (size_t)snprintf(buffer, size, "<%d>", token);
}

size_t spec_transformer_tokenize(const spec_model *head, const char *text, size_t length,
                                 int *token, size_t capacity)
{
    const spec_tokenizer *tokenizer = ((const spec_transformer *)head)->checkpoint->opt_tokenizer;
    return tokenizer != NULL ? spec_tokenizer_encode(tokenizer, text, length, token, capacity) : 0;
}
