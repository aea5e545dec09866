/* SPDX-License-Identifier: GPL-3.0-or-later */
/* context: the threads, devices and settings that a program's models and computations share.
 * The program creates a context, passes it on, and frees it after closing everything opened in it.
 * Several threads may use one context, and a process may have several. */
#ifndef SPECLAB_CONTEXT_H
#define SPECLAB_CONTEXT_H

#include "base/large_pages.h"
#include "base/thread_pool.h"
#include "models/gpu/gpu_settings.h"

#include <pthread.h>

typedef struct spec_context spec_context;
struct spec_context {
    spec_thread_pool *pool;
    struct spec_backend *cpu; /* computes with the pool */

    /* The program sets these before it opens a model. */
    const char *opt_share;    /* the folder of shared texts (models/ngram/corpus.h); NULL: none */
    spec_gpu_settings gpu;
    const struct spec_team *opt_team; /* processes that share a run (experiments/team.h) */

    struct spec_cards *cards;           /* the driver and the GPUs (models/gpu/card.h) */
    pthread_mutex_t lock;               /* guards the next fields */
    struct spec_device_opened *devices; /* their backends (models/transformer/engine/device.c) */
    spec_large_pages weights;           /* where the CPU's weights are allocated */
};

/* Returns the pool of a context, or NULL for NULL. */
static inline spec_thread_pool *spec_context_pool(const spec_context *opt_context)
{
    return opt_context != NULL ? opt_context->pool : NULL;
}

/* Returns the folder of shared texts of a context, or NULL for NULL. */
static inline const char *spec_context_share(const spec_context *opt_context)
{
    return opt_context != NULL ? opt_context->opt_share : NULL;
}

/* Creates a context whose pool has `threads` threads; 0: as many as OpenMP. It must not move. */
int spec_context_init(spec_context *context, int threads, spec_error *error);
void spec_context_free(spec_context *context); /* accepts a zeroed one */

#endif
