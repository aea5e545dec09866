/* model_cache: models opened once for a run and shared by the points that name them, for an n-gram costs seconds to
 * train. Keyed by the spec, and by the target's too where the draft is built from it. The cache owns the models; not
 * for several threads. */
#ifndef SPECLAB_MODEL_CACHE_H
#define SPECLAB_MODEL_CACHE_H

#include "models/model.h"

typedef struct spec_model_cache {
    int n, capacity;
    struct spec_model_cache_entry {
        char *key;
        spec_model *model;
    } *entry;
} spec_model_cache;

/* The model that `spec` names, opened now or before; see spec_model_open. opt_target must be of this cache, or outlive
 * it. */
int spec_model_cache_open(const spec_model **ret_model, spec_model_cache *cache, const char *spec,
                          const spec_model *opt_target, spec_error *error);

/* Close everything if more than `n_max` models are held: memory stays flat over a long grid. Models given out before
 * are gone then. */
void spec_model_cache_trim(spec_model_cache *cache, int n_max);
void spec_model_cache_free(spec_model_cache *cache);

#endif
