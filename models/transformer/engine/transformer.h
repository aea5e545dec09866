/* SPDX-License-Identifier: GPL-3.0-or-later */
/* transformer: makes a model of a transformer, from its checkpoint, weights and settings.
 * The kinds llama2c, gguf and random load a checkpoint; layers and quantised are drafts made of
 * such a target. A model owns its checkpoint and weights or borrows the target's. */
#ifndef SPECLAB_TRANSFORMER_H
#define SPECLAB_TRANSFORMER_H

#include "models/model.h"
#include "models/transformer/engine/forward.h"
#include "models/transformer/engine/memory_budget.h"

typedef struct {
    spec_model head;
    spec_checkpoint own_checkpoint;
    spec_weights own_weights;
    const spec_backend *own_device;    /* opened for this model, or NULL */
    const spec_checkpoint *checkpoint; /* own, or the target's */
    const spec_weights *weights;       /* own, or the target's */
    int *sublayer, n_sublayers;        /* the sublayers that run, ascending (forward.h) */
    int window, sink; /* window > 0: attention reads the keys and values of the last `window` and
                         the first `sink` positions (spec_batch) */
    int context;                       /* positions in a text, including the begin-of-text token */
    double temperature;
    spec_tensor_type type; /* of its own weights; SPEC_TENSOR_TYPES: as in the checkpoint */
    spec_tensor_type kv_type;          /* of the KV cache */
    uint64_t replacements;             /* calls to spec_transformer_replace */
} spec_transformer;

/* Returns the transformer inside a model, through its wrappers; NULL if it is not a transformer. */
const spec_transformer *spec_transformer_of(const spec_model *model);

/* Sets up a model that runs all layers of a checkpoint. The `open` function of a kind calls it, and
 * sets the kind's own fields before or after. */
int spec_transformer_init(spec_transformer *model, const spec_checkpoint *checkpoint,
                          const spec_weights *weights, spec_settings *settings, spec_error *error);

/* Plans weights of type `type` (as in spec_weights_init) on this backend, and a KV cache of the
 * type that the key `kv` names. The `open` function of a kind calls it. */
int spec_transformer_plan_weights(spec_transformer *model, const spec_checkpoint *checkpoint,
                                  spec_tensor_type type, const spec_backend *backend,
                                  const spec_settings *settings, spec_error *error);

/* The functions that all kinds share in their spec_model_kind; those for sessions are in
 * models/transformer/engine/transformer_session.h. */
size_t spec_transformer_token_text(const spec_model *model, int token, char *buffer, size_t size);
size_t spec_transformer_tokenize(const spec_model *model, const char *text, size_t length,
                                 int *token, size_t capacity);
void spec_transformer_close(spec_model *model);
int spec_transformer_load(spec_model *model, const spec_model *opt_target, spec_error *error);

/* Replaces a loaded model's own weights by those of a checkpoint of the same shape. During the call
 * no other thread may use the model, and none of its passes may run. Its sessions compute their
 * texts again. On failure the weights are unchanged. */
int spec_transformer_replace(spec_transformer *model, const spec_checkpoint *from,
                             spec_error *error);

/* Returns the memory that a model needs at a time: weights that it owns and has not loaded, `texts`
 * KV caches, the buffers of `passes` sessions, and `laws` (models/chain.h). Zero for NULL or a
 * model that is not a transformer. */
spec_memory_budget_need spec_transformer_memory(const spec_model *opt_model, int texts, int passes,
                                                int laws);

/* Fills ret_text (model->context) with *ret_n tokens: the begin-of-text token, if the text has one,
 * and the context. Returns GSL_EINVAL if they do not fit. */
int spec_transformer_text(const spec_transformer *model, int *ret_text, size_t *ret_n,
                          const int *context, size_t n, spec_error *error);

#endif
