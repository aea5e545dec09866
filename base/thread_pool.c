/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/thread_pool.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define PAUSE() _mm_pause()
#else
#define PAUSE() ((void)0)
#endif

enum {
    PARTS_MAX = 256,    /* of a job */
    LINE = 64,          /* bytes of a cache line */
    SPINS = 200,        /* pauses before a waiting thread yields: some microseconds */
    TURN = 1000 * 1000, /* nanoseconds of work between two yields of a thread */
    LINGER = 200 * 1000 /* nanoseconds that a thread waits for the next pass before it sleeps */
};

/* The chunks of a job are split into as many parts as there are threads. A thread takes a part,
 * runs its chunks in order, and then helps with the unfinished chunks of other parts. Storing
 * `left` publishes a job: a thread that takes a part may read the job, which lasts until that part
 * is done. A preempted thread delays the job only if it holds a chunk. */
static struct {
    _Alignas(LINE) atomic_int left; /* parts of the job not yet taken; less than 1: none */
    spec_thread_pool_work *work;
    void *job;
    int n, parts;
    _Alignas(LINE) atomic_int done; /* finished parts */
    struct {
        _Alignas(LINE) atomic_int next; /* chunk */
    } part[PARTS_MAX];

    _Alignas(LINE) atomic_bool locked;
    atomic_bool stop;
    atomic_int processor;       /* the caller's, when it locked the pool */
    pthread_mutex_t sleep;      /* guards `asleep` */
    pthread_cond_t wake;
    atomic_int asleep;

    pthread_mutex_t members;    /* guards the fields below */
    int holders;
    pthread_t *thread;
    int n_threads, wanted;      /* besides the caller's: running; requested */
    bool forks;                 /* the fork handlers are registered */
    atomic_int chosen;          /* threads for a job; 0: OpenMP's number */
    atomic_int missed, granted; /* see spec_thread_pool_missing */
} pool = {.sleep = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .members = PTHREAD_MUTEX_INITIALIZER};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int part_begin(int part)
{
    return (int)((int64_t)pool.n * part / pool.parts);
}

/* Take a part of the current job and run unfinished chunks; false if no part is free. */
static bool do_part(void)
{
    if (atomic_load_explicit(&pool.left, memory_order_relaxed) < 1) return false;
    const int left = atomic_fetch_sub_explicit(&pool.left, 1, memory_order_acquire);
    if (left < 1) return false;
    for (int i = 0; i < pool.parts; i++) {
        const int part = (pool.parts - left + i) % pool.parts, end = part_begin(part + 1);
        for (int c;
             (c = atomic_fetch_add_explicit(&pool.part[part].next, 1, memory_order_relaxed)) < end;)
            pool.work(pool.job, c);
    }
    atomic_fetch_add_explicit(&pool.done, 1, memory_order_release);
    return true;
}

static void sleep_until_locked(void)
{
    pthread_mutex_lock(&pool.sleep);
    atomic_fetch_add(&pool.asleep, 1);
    while (!atomic_load(&pool.locked) && !atomic_load(&pool.stop))
        pthread_cond_wait(&pool.wake, &pool.sleep);
    atomic_fetch_sub(&pool.asleep, 1);
    pthread_mutex_unlock(&pool.sleep);
}

static void wake_all(void)
{
    if (atomic_load(&pool.asleep) == 0) return;
    pthread_mutex_lock(&pool.sleep);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.sleep);
}

/* The scheduler may wake a thread on the caller's processor and keep it there for many passes
 * although another processor is idle; a pass then takes as long as on one thread. The thread
 * therefore moves to another processor once, and keeps its whole affinity mask. */
static void leave_the_callers_processor(void)
{
    const int here = sched_getcpu();
    cpu_set_t all, others;
    if (here < 0 || here != atomic_load_explicit(&pool.processor, memory_order_relaxed) ||
        sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    others = all;
    CPU_CLR((size_t)here, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof all, &all);
}

/* A thread yields now and then between two chunks: preempted within a chunk, it would delay the
 * job. */
static void *run_member(void *unused)
{
    (void)unused;
    leave_the_callers_processor();
    int64_t turn = now(), busy = turn, looked = turn;
    for (int waited = 0; !atomic_load_explicit(&pool.stop, memory_order_relaxed);) {
        if (do_part()) {
            waited = 0;
            busy = now();
            if (busy - turn < TURN) continue;
            sched_yield();
            turn = now();
        } else if (waited < SPINS) {
            waited++;
            PAUSE();
            continue;
        } else {
            sched_yield();
            turn = now();
            if (atomic_load_explicit(&pool.locked, memory_order_relaxed)) busy = turn;
            if (turn - busy >= LINGER) {
                sleep_until_locked();
                waited = 0;
                busy = turn = now();
                looked = turn - TURN;
            }
        }
        if (turn - looked < TURN) continue;
        leave_the_callers_processor();
        looked = turn;
    }
    return NULL;
}

/* A forked child has no threads of the pool. */
static void before_fork(void)
{
    pthread_mutex_lock(&pool.members);
    pthread_mutex_lock(&pool.sleep);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&pool.sleep);
    pthread_mutex_unlock(&pool.members);
}

static void after_fork_in_child(void)
{
    free(pool.thread);
    pool.thread = NULL;
    pool.n_threads = pool.wanted = 0;
    atomic_store(&pool.asleep, 0);
    atomic_store(&pool.locked, false);
    pool.wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pthread_mutex_unlock(&pool.sleep);
    pthread_mutex_unlock(&pool.members);
}

/* Start n threads besides the caller's, or as many as the system grants. `members` is locked. */
static void start(int n)
{
    if (!pool.forks) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    pool.forks = true;
    pool.wanted = n;
    pool.thread = malloc((size_t)n * sizeof *pool.thread);
    const int most = pool.thread != NULL ? n : 0;
    /* Signals go to the threads of the program. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.n_threads < most &&
           pthread_create(&pool.thread[pool.n_threads], NULL, run_member, NULL) == 0)
        pool.n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pool.n_threads == n || atomic_load(&pool.missed) > n) return;
    atomic_store(&pool.granted, pool.n_threads + 1);
    atomic_store(&pool.missed, n + 1);
}

static void stop(void)
{
    atomic_store(&pool.stop, true);
    wake_all();
    for (int i = 0; i < pool.n_threads; i++) pthread_join(pool.thread[i], NULL);
    atomic_store(&pool.stop, false);
    free(pool.thread);
    pool.thread = NULL;
    pool.n_threads = pool.wanted = 0;
}

void spec_thread_pool_retain(void)
{
    pthread_mutex_lock(&pool.members);
    pool.holders++;
    pthread_mutex_unlock(&pool.members);
}

void spec_thread_pool_release(void)
{
    pthread_mutex_lock(&pool.members);
    if (--pool.holders == 0) stop();
    pthread_mutex_unlock(&pool.members);
}

int spec_thread_pool_size(void)
{
    if (omp_in_parallel()) return 1;
    const int chosen = atomic_load_explicit(&pool.chosen, memory_order_relaxed);
    return chosen > 0 ? chosen : omp_get_max_threads();
}

void spec_thread_pool_set_size(int size)
{
    atomic_store(&pool.chosen, size);
}

int spec_thread_pool_missing(int *ret_granted)
{
    *ret_granted = atomic_load(&pool.granted);
    return atomic_load(&pool.missed);
}

/* Lock the pool with exactly `size` threads, or (`more`) with at least that many. */
static bool try_lock(int size, bool more)
{
    bool free_until_now = false;
    if (size == 1 || !atomic_compare_exchange_strong(&pool.locked, &free_until_now, true))
        return false;
    atomic_store_explicit(&pool.processor, sched_getcpu(), memory_order_relaxed);
    pthread_mutex_lock(&pool.members);
    if (more ? pool.wanted < size - 1 : pool.wanted != size - 1) {
        stop();
        if (pool.holders > 0) start(size - 1);
    }
    pthread_mutex_unlock(&pool.members);
    wake_all();
    return true;
}

bool spec_thread_pool_try_lock(void)
{
    return try_lock(spec_thread_pool_size(), false);
}

bool spec_thread_pool_try_lock_size(int size)
{
    return !omp_in_parallel() && try_lock(size, true);
}

void spec_thread_pool_unlock(void)
{
    atomic_store(&pool.locked, false);
}

void spec_thread_pool_run(spec_thread_pool_work *work, void *job, int n, bool locked)
{
    if (!locked || n <= 1) {
        for (int i = 0; i < n; i++) work(job, i);
        return;
    }
    const int size = pool.n_threads < PARTS_MAX ? pool.n_threads + 1 : PARTS_MAX;
    pool.work = work;
    pool.job = job;
    pool.n = n;
    pool.parts = size < n ? size : n;
    for (int i = 0; i < pool.parts; i++) atomic_init(&pool.part[i].next, part_begin(i));
    atomic_store_explicit(&pool.done, 0, memory_order_relaxed);
    atomic_store_explicit(&pool.left, pool.parts, memory_order_release);
    while (do_part()) continue;
    for (int waited = 0; atomic_load_explicit(&pool.done, memory_order_acquire) < pool.parts;
         waited++) {
        if (waited < SPINS) PAUSE();
        else sched_yield();
    }
}
