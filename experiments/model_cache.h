/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_cache: the open models of a run, shared by the points that name them.
 * We open a model only once, because training an n-gram takes seconds. Two models are the same if
 * their specs are and, where they are built from a target, that target is the same object. Owns the
 * models; not thread-safe. */
#ifndef SPECLAB_MODEL_CACHE_H
#define SPECLAB_MODEL_CACHE_H

#include "models/model.h"

typedef struct spec_model_cache {
    spec_context *opt_context; /* context of its models */
    int n, capacity;
    struct spec_model_cache_entry {
        char *spec;
        const spec_model *of; /* the target that it is built from, or NULL */
        spec_model *model;
    } *entry;
} spec_model_cache;

/* Returns the model of `spec`, which is opened on first use (spec_model_open). opt_target must be
 * in this cache, or outlive it. */
int spec_model_cache_open(const spec_model **ret_model, spec_model_cache *cache, const char *spec,
                          const spec_model *opt_target, spec_error *error);

/* Closes all models if there are more than `n_max`, so that memory stays flat over a long grid.
 * Earlier pointers are then invalid. */
void spec_model_cache_trim(spec_model_cache *cache, int n_max);
void spec_model_cache_free(spec_model_cache *cache);

#endif
