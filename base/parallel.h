/* SPDX-License-Identifier: GPL-3.0-or-later */
/* parallel: a loop over independent items, run by several threads (base/thread_pool.h).
 * Items start in the order of their numbers. A worker runs one item at a time on any thread; an
 * item's result must not depend on its worker. If fewer threads are available, fewer workers run
 * all items. */
#ifndef SPECLAB_PARALLEL_H
#define SPECLAB_PARALLEL_H

#include <stdint.h>

/* Run one item, 0..items-1, as worker 0..workers-1; each worker may have its own workspace. */
typedef void spec_parallel_work(void *job, uint64_t item, int worker);

/* The number of workers for `wanted` threads; 0: as many as the thread pool has. */
int spec_parallel_workers(int wanted);

/* Run all items; returns when all are finished. */
void spec_parallel_run(spec_parallel_work *work, void *job, uint64_t items, int workers);

#endif
