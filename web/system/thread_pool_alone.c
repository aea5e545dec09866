/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pool of base/thread_pool.h with one thread, the caller's. */
#include "base/thread_pool.h"
#include "speclab/no_memory.h"

#include <stdlib.h>

struct spec_thread_pool {
    int unused;
};

int spec_thread_pool_init(spec_thread_pool **ret_pool, int size, spec_error *error)
{
    (void)size;
    *ret_pool = calloc(1, sizeof **ret_pool);
    return *ret_pool != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

void spec_thread_pool_free(spec_thread_pool *pool)
{
    free(pool);
}

spec_thread_pool *spec_thread_pool_try_lock(spec_thread_pool *opt_pool)
{
    (void)opt_pool;
    return NULL;
}

void spec_thread_pool_unlock(spec_thread_pool *opt_locked)
{
    (void)opt_locked;
}

void spec_thread_pool_run(spec_thread_pool *opt_locked, spec_thread_pool_work *work, void *job,
                          int n)
{
    (void)opt_locked;
    for (int i = 0; i < n; i++) work(job, i);
}

int spec_thread_pool_size(const spec_thread_pool *opt_pool)
{
    (void)opt_pool;
    return 1;
}
