/* SPDX-License-Identifier: GPL-3.0-or-later */
/* thread_pool: the threads of this process that compute one job together, in chunks.
 * There is one pool per process, as many threads as OpenMP would use. A pass that finds it locked,
 * or runs inside an OpenMP region, works alone. Free threads take the next chunk, so results must
 * not depend on which thread runs a chunk. A thread prefers consecutive chunks, which it reads from
 * memory as one stream. */
#ifndef SPECLAB_THREAD_POOL_H
#define SPECLAB_THREAD_POOL_H

#include <stdbool.h>

/* Run one chunk of a job, on any thread. */
typedef void spec_thread_pool_work(void *job, int chunk);

/* Count the users of the pool: threads start with the first job after the first _retain, and end
 * with the last _release. */
void spec_thread_pool_retain(void);
void spec_thread_pool_release(void);

/* Lock the pool for all jobs of a pass; the caller unlocks it. False if it is locked, if the caller
 * is one of several OpenMP threads, or if the pool has one thread. While the pool is locked its
 * threads spin briefly, then yield; afterwards they sleep. */
bool spec_thread_pool_try_lock(void);
void spec_thread_pool_unlock(void);

/* The same with at least `size` threads, including the caller's (base/parallel.h). */
bool spec_thread_pool_try_lock_size(int size);

/* Run chunks 0..n-1 of a job and return when all are finished. `locked`: the caller has locked the
 * pool and its threads share the job; else the caller runs all chunks in order. */
void spec_thread_pool_run(spec_thread_pool_work *work, void *job, int n, bool locked);

/* Threads that share a job, including the caller's: the size set, or else OpenMP's number. */
int spec_thread_pool_size(void);
void spec_thread_pool_set_size(int size);

/* The largest number of threads that the system refused to create in full, and how many there were
 * instead; 0 if it never refused. */
int spec_thread_pool_missing(int *ret_granted);

#endif
