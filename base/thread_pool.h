/* SPDX-License-Identifier: GPL-3.0-or-later */
/* thread_pool: threads that compute one job together, in chunks.
 * The owner creates a pool, passes it on and frees it. Only one pass uses the pool at a time: a
 * pass that finds it locked computes on the calling thread, and so does one in an OpenMP region or
 * a forked child. Free threads take the next chunk, so results must not depend on which thread runs
 * a chunk. A thread prefers consecutive chunks, which it reads from memory as one stream. */
#ifndef SPECLAB_THREAD_POOL_H
#define SPECLAB_THREAD_POOL_H

#include "speclab/status.h"

typedef struct spec_thread_pool spec_thread_pool;

/* Runs one chunk of a job, on any thread. */
typedef void spec_thread_pool_work(void *job, int chunk);

/* Creates a pool in which `size` threads share a job, including the caller's; 0: OpenMP's number.
 * Its threads start with the first job, in the locale of its caller, and end in _free. Call it
 * after the last job; it accepts NULL. */
int spec_thread_pool_init(spec_thread_pool **ret_pool, int size, spec_error *error);
void spec_thread_pool_free(spec_thread_pool *pool);

/* Locks the pool for all jobs of a pass, and returns it; the caller unlocks it. Returns NULL for
 * NULL, for a pool of one thread or a locked one, and in an OpenMP region or a forked child. While
 * the pool is locked, its threads spin briefly, then yield; afterwards they sleep. */
spec_thread_pool *spec_thread_pool_try_lock(spec_thread_pool *opt_pool);
void spec_thread_pool_unlock(spec_thread_pool *opt_locked);

/* Runs chunks 0..n-1 of a job and returns when all are finished. The threads of the pool, which the
 * caller has locked, share the job; without a pool the caller runs all chunks in order. */
void spec_thread_pool_run(spec_thread_pool *opt_locked, spec_thread_pool_work *work, void *job,
                          int n);

/* Returns how many threads share a job, including the caller's; 1 without a pool. */
int spec_thread_pool_size(const spec_thread_pool *opt_pool);
void spec_thread_pool_set_size(spec_thread_pool *pool, int size);

/* If the system ever refused to create all the threads that were asked for, returns the largest
 * number asked for and sets *ret_granted to how many there were instead; returns 0 if it never
 * refused. */
int spec_thread_pool_missing(const spec_thread_pool *pool, int *ret_granted);

#endif
