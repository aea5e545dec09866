/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/model_cache.h"
#include "models/model_open.h"

#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* Returns whether the model depends on its target, by its kind or by a key such as tokens=target.
 * False for an unknown kind, which spec_model_open reports. */
static bool needs_target(const char *spec)
{
    if (strstr(spec, "=target") != NULL) return true;
    size_t n = strcspn(spec, ":?");
    for (int i = 0; spec_model_kinds[i] != NULL; i++) {
        const char *name = spec_model_kinds[i]->name;
        if (strlen(name) == n && strncmp(name, spec, n) == 0)
            return spec_model_kinds[i]->needs_target;
    }
    return false;
}

int spec_model_cache_open(const spec_model **ret_model, spec_model_cache *cache, const char *spec,
                          const spec_model *opt_target, spec_error *error)
{
    const spec_model *of = needs_target(spec) ? opt_target : NULL;
    struct spec_model_cache_entry new = {.of = of};
    int status = GSL_SUCCESS;
    *ret_model = NULL;
    for (int i = 0; i < cache->n; i++)
        if (cache->entry[i].of == of && strcmp(cache->entry[i].spec, spec) == 0) {
            *ret_model = cache->entry[i].model;
            return GSL_SUCCESS;
        }
    if (cache->n == cache->capacity) {
        int capacity = cache->capacity == 0 ? 8 : 2 * cache->capacity;
        struct spec_model_cache_entry *entry =
            realloc(cache->entry, (size_t)capacity * sizeof *entry);
        if (entry == NULL) return spec_no_memory(error);
        cache->entry = entry;
        cache->capacity = capacity;
    }
    if ((new.spec = strdup(spec)) == NULL) return spec_no_memory(error);
    SPEC_TRY(spec_model_open(&new.model, spec, opt_target, cache->opt_context, error));
    cache->entry[cache->n++] = new;
    *ret_model = new.model;
done:
    if (status != GSL_SUCCESS) free(new.spec);
    return status;
}

void spec_model_cache_trim(spec_model_cache *cache, int n_max)
{
    if (cache->n <= n_max) return;
    /* close drafts before the targets that they were built from */
    for (int i = cache->n - 1; i >= 0; i--) {
        spec_model_close(cache->entry[i].model);
        free(cache->entry[i].spec);
    }
    cache->n = 0;
}

void spec_model_cache_free(spec_model_cache *cache)
{
    spec_model_cache_trim(cache, 0);
    free(cache->entry);
    *cache = (spec_model_cache){0};
}
