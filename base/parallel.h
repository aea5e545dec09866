/* SPDX-License-Identifier: GPL-3.0-or-later */
/* parallel: runs a loop over independent items on several threads (base/thread_pool.h).
 * Items start in numerical order. A worker runs one item at a time, on any thread; an item's result
 * must not depend on its worker. If fewer threads are available, fewer workers run all items. */
#ifndef SPECLAB_PARALLEL_H
#define SPECLAB_PARALLEL_H

#include "base/thread_pool.h"

#include <stdint.h>

/* Runs one item, 0..items-1, as worker 0..workers-1; each worker may have its own workspace. */
typedef void spec_parallel_work(void *job, uint64_t item, int worker);

/* Runs all items with `workers` workers, at most spec_thread_pool_size of them at a time; returns
 * when all are finished. Without a pool the calling thread runs all items. */
void spec_parallel_run(spec_thread_pool *opt_pool, spec_parallel_work *work, void *job,
                       uint64_t items, int workers);

#endif
