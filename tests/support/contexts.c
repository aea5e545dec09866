/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/contexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 129 };

static spec_context contexts[MOST];
static bool registered; /* the contexts will be freed at the end */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_off(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && strcmp(value, "0") == 0;
}

/* Runs before the sanitizer looks for leaks, which may fail while threads are running */
static void free_contexts(void)
{
    for (int i = 0; i < MOST; i++) spec_context_free(&contexts[i]);
}

/* The environment sets the GPU as it does for the program. */
static int open_context(spec_context *context, int threads, spec_error *error)
{
    const int status = spec_context_init(context, threads, error);
    context->gpu = (spec_gpu_settings){.opt_library = getenv("SPECLAB_LIBCUDA"),
                                       .opt_visible = getenv("CUDA_VISIBLE_DEVICES"),
                                       .in_order = is_off("SPECLAB_GPU_EARLY"),
                                       .unrecorded = is_off("SPECLAB_GPU_RECORD")};
    return status;
}

spec_context *spec_test_context(int threads)
{
    spec_error error = {{0}};
    int status = threads >= 0 && threads < MOST ? GSL_SUCCESS : GSL_EINVAL;
    pthread_mutex_lock(&lock);
    if (!registered) registered = atexit(free_contexts) == 0;
    if (status == GSL_SUCCESS && contexts[threads].pool == NULL)
        status = open_context(&contexts[threads], threads, &error);
    pthread_mutex_unlock(&lock);
    if (status == GSL_SUCCESS) return &contexts[threads];
    fprintf(stderr, "no context of %d threads: %s\n", threads, error.text);
    abort();
}

spec_thread_pool *spec_test_pool(int threads)
{
    return spec_test_context(threads)->pool;
}
