/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/parallel.h"

#include <stdatomic.h>

typedef struct {
    spec_parallel_work *work;
    void *job;
    uint64_t items;
    _Atomic uint64_t next;
} loop;

/* A worker that starts late finds no items left. */
static void be_worker(void *self, int worker)
{
    loop *l = self;
    for (uint64_t i; (i = atomic_fetch_add(&l->next, 1)) < l->items;) l->work(l->job, i, worker);
}

void spec_parallel_run(spec_thread_pool *opt_pool, spec_parallel_work *work, void *job,
                       uint64_t items, int workers)
{
    loop l = {.work = work, .job = job, .items = items};
    if (items < (uint64_t)workers) workers = (int)items;
    spec_thread_pool *locked = workers > 1 ? spec_thread_pool_try_lock(opt_pool) : NULL;
    spec_thread_pool_run(locked, be_worker, &l, workers);
    spec_thread_pool_unlock(locked);
}
