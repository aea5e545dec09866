/* SPDX-License-Identifier: GPL-3.0-or-later */
/* memory_budget: checks that models fit into the memory of their backends, before any is loaded.
 * It counts weights, the KV cache of each text, and the buffers of each pass. For every matrix and
 * buffer we count what the backend really allocates for it. */
#ifndef SPECLAB_MEMORY_BUDGET_H
#define SPECLAB_MEMORY_BUDGET_H

#include "models/transformer/engine/backend.h"

/* The memory that one model needs at any one time; spec_transformer_memory fills it. All zero:
 * none. */
typedef struct {
    const spec_backend *backend; /* where the model computes; NULL: the model is not a
                                    transformer */
    size_t weights;              /* bytes of weights that the model owns and has not loaded yet */
    size_t texts, passes, laws;  /* bytes of KV caches, of passes' buffers, and of drafts' laws */
    int n_texts, n_passes;       /* number of KV caches; of passes with buffers */
    int context;                 /* tokens of a text */
} spec_memory_budget_need;

/* Returns GSL_ENOMEM if these needs do not fit together on their backends. The line lists the needs
 * of the first model on the full backend, and the memory available. It adds the total of the other
 * models there; if there is only one other, it is called the target. */
int spec_memory_budget_check(const spec_memory_budget_need *need, int n, spec_error *error);

/* Reads the type of the KV cache from the key `kv` of a spec: f32; bf16, or f16 if the backend
 * supports it, which take half the memory; auto, which is the backend's half_kv if some matrix is
 * not F32, else f32. opt_type as in spec_weights_init. */
int spec_memory_budget_choose_kv(spec_tensor_type *ret_kv_type, const spec_backend *backend,
                                 const spec_checkpoint *checkpoint, spec_tensor_type opt_type,
                                 const spec_settings *settings, spec_error *error);

#endif
