/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/context.h"

#include "models/gpu/card.h"
#include "models/transformer/engine/backend.h"
#include "speclab/no_memory.h"

#include <stdlib.h>

int spec_context_init(spec_context *context, int threads, spec_error *error)
{
    int status = GSL_SUCCESS;
    *context = (spec_context){0};
    pthread_mutex_init(&context->lock, NULL);
    SPEC_TRY(spec_thread_pool_init(&context->pool, threads, error));
    SPEC_TRY(spec_cards_init(&context->cards, &context->gpu, error));
    context->cpu = malloc(sizeof *context->cpu);
    if (context->cpu == NULL) SPEC_TRY(spec_no_memory(error));
    *context->cpu = spec_backend_cpu;
    context->cpu->opt_context = context;
done:
    if (status != GSL_SUCCESS) spec_context_free(context);
    return status;
}

void spec_context_free(spec_context *context)
{
    free(context->cpu);
    spec_large_pages_free(&context->weights);
    spec_cards_free(context->cards);
    spec_thread_pool_free(context->pool);
    *context = (spec_context){0};
}
