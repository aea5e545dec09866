/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/context.h"
#include "models/model_kinds.h"
#include "models/transformer/engine/device.h"
#include "models/transformer/engine/self_draft.h"
#include "models/transformer/engine/transformer_session.h"
#include "speclab/no_memory.h"

#include <stdlib.h>

typedef int loader(spec_checkpoint *ret, spec_settings *settings, spec_thread_pool *opt_pool,
                   spec_error *error);

static int open_checkpoint(spec_model **ret_model, loader *load, spec_settings *settings,
                           spec_context *opt_context, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_transformer *model = calloc(1, sizeof *model);
    *ret_model = NULL;
    if (model == NULL) return spec_no_memory(error);
    SPEC_TRY(spec_device_read(&model->own_device, opt_context, settings, error));
    SPEC_TRY(load(&model->own_checkpoint, settings, spec_context_pool(opt_context), error));
    SPEC_TRY(spec_transformer_plan_weights(model, &model->own_checkpoint, SPEC_TENSOR_TYPES,
                                           model->own_device, settings, error));
    SPEC_TRY(
        spec_transformer_init(model, &model->own_checkpoint, &model->own_weights, settings, error));
    *ret_model = &model->head;
    model = NULL;
done:
    if (model != NULL) spec_transformer_close(&model->head);
    return status;
}

#define OPENS(name)                                                                                \
    static int open_##name(spec_model **ret_model, spec_settings *settings,                        \
                           const spec_model *opt_target, spec_context *opt_context,                \
                           spec_error *error)                                                      \
    {                                                                                              \
        (void)opt_target;                                                                          \
        return open_checkpoint(ret_model, spec_checkpoint_load_##name, settings, opt_context,      \
                               error);                                                             \
    }
OPENS(llama2c)
OPENS(gguf)
OPENS(random)

#define TRANSFORMER                                                                                \
    .applies_temperature = true, .close = spec_transformer_close, .load = spec_transformer_load,   \
    .row = spec_transformer_session_row, .score = spec_transformer_session_score,                  \
    .score_begin = spec_transformer_session_score_begin,                                           \
    .score_end = spec_transformer_session_score_end,                                               \
    .session_init = spec_transformer_session_init, .session_free = spec_transformer_session_free,  \
    .chain = &spec_transformer_chain, .token_text = spec_transformer_token_text

const spec_model_kind spec_model_llama2c = {
    .name = "llama2c",
    .usage = "llama2c:PATH?tokenizer=PATH&context=0&end=1&device=cpu&kv=auto",
    .summary = "a transformer from a llama2.c checkpoint; its tokenizer.bin is in the same folder",
    .reference = "Touvron23",
    .open = open_llama2c,
    TRANSFORMER,
    .tokenize = spec_transformer_tokenize,
};

const spec_model_kind spec_model_gguf = {
    .name = "gguf",
    .usage = "gguf:PATH?context=0&device=cpu&kv=auto",
    .summary = "a transformer from a GGUF file: llama, qwen2, qwen3, qwen3moe, gemma3, gpt-oss "
               "or a hybrid",
    .reference = "Touvron23",
    .open = open_gguf,
    TRANSFORMER,
    .tokenize = spec_transformer_tokenize,
};

const spec_model_kind spec_model_random = {
    .name = "random",
    .usage = "random?dim=768&layers=12&heads=12&kv_heads=0&ffn=2048&experts=0&active=0&expert_ffn=0"
             "&attends=1&vocab=32000&context=1024&type=q8_0&seed=1&device=cpu&kv=auto",
    .summary = "a transformer of any shape with random weights, for timing and for proofs",
    .reference = "Touvron23",
    .open = open_random,
    TRANSFORMER,
};

const spec_model_kind spec_model_layers = {
    .name = "layers",
    .usage = "layers?of=target&exit=0&skip=none&window=0&sink=4",
    .summary = "the target without its last layers or some sublayers, or with a window; shares "
               "weights and cache",
    .reference = "Elhoushi24",
    .needs_target = true,
    .open = spec_self_draft_layers_open,
    TRANSFORMER,
    .session_share = spec_transformer_session_share,
};

const spec_model_kind spec_model_quantised = {
    .name = "quantised",
    .usage = "quantised?of=target&type=q8_0&device=target&kv=auto",
    .summary = "the target's weights in another type: f32, f16, bf16, q8_0, q4_0, q4_k, q5_k or "
               "q6_k",
    .reference = "",
    .needs_target = true,
    .open = spec_self_draft_quantised_open,
    TRANSFORMER,
};
