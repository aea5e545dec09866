/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/thread_pool.h"

#include "speclab/no_memory.h"

#include <locale.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define PAUSE() _mm_pause()
#else
#define PAUSE() ((void)0)
#endif

enum {
    PARTS_MAX = 256,    /* maximum parts of a job */
    LINE = 64,          /* bytes of a cache line */
    SPINS = 200,        /* a waiting thread yields after this many pauses, a few microseconds */
    TURN = 1000 * 1000, /* a thread works this many nanoseconds between two yields */
    LINGER = 200 * 1000 /* a thread waits this many nanoseconds for the next pass before it
                         * sleeps */
};

/* The chunks of a job are split into as many parts as there are threads. A thread takes a part,
 * runs its chunks in order, and then helps with the unfinished chunks of other parts. Storing
 * `left` publishes a job: a thread that takes a part may then read the job, which stays valid until
 * that part is done. A thread that is preempted delays the job only if it is running a chunk. */
struct spec_thread_pool {
    _Alignas(LINE) atomic_int left; /* how many parts of the job are not taken yet; none if below
                                       1 */
    spec_thread_pool_work *work;
    void *job;
    int n, parts;
    _Alignas(LINE) atomic_int done; /* number of finished parts */
    struct {
        _Alignas(LINE) atomic_int next; /* next chunk */
    } part[PARTS_MAX];

    _Alignas(LINE) atomic_bool locked;
    atomic_bool stop;
    atomic_int processor;       /* the caller's processor when it locked the pool */
    pthread_mutex_t sleep;      /* guards `asleep` */
    pthread_cond_t wake;
    atomic_int asleep;

    pid_t process;              /* the process that created the pool */
    locale_t locale;            /* of the thread that started the threads, and so theirs */
    pthread_t *thread;          /* changed only by the owner of `locked`, like the next two */
    int n_threads, wanted;      /* other threads than the caller's: running, and requested */
    atomic_int chosen;          /* threads for a job; 0: OpenMP's number */
    atomic_int missed, granted; /* see spec_thread_pool_missing */
};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int part_begin(const spec_thread_pool *pool, int part)
{
    return (int)((int64_t)pool->n * part / pool->parts);
}

/* Takes a part of the current job and runs unfinished chunks; returns false if no part is free. */
static bool do_part(spec_thread_pool *pool)
{
    if (atomic_load_explicit(&pool->left, memory_order_relaxed) < 1) return false;
    const int left = atomic_fetch_sub_explicit(&pool->left, 1, memory_order_acquire);
    if (left < 1) return false;
    for (int i = 0; i < pool->parts; i++) {
        const int part = (pool->parts - left + i) % pool->parts, end = part_begin(pool, part + 1);
        for (int c; (c = atomic_fetch_add_explicit(&pool->part[part].next, 1,
                                                   memory_order_relaxed)) < end;)
            pool->work(pool->job, c);
    }
    atomic_fetch_add_explicit(&pool->done, 1, memory_order_release);
    return true;
}

static void sleep_until_locked(spec_thread_pool *pool)
{
    pthread_mutex_lock(&pool->sleep);
    atomic_fetch_add(&pool->asleep, 1);
    while (!atomic_load(&pool->locked) && !atomic_load(&pool->stop))
        pthread_cond_wait(&pool->wake, &pool->sleep);
    atomic_fetch_sub(&pool->asleep, 1);
    pthread_mutex_unlock(&pool->sleep);
}

static void wake_all(spec_thread_pool *pool)
{
    if (atomic_load(&pool->asleep) == 0) return;
    pthread_mutex_lock(&pool->sleep);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->sleep);
}

/* The scheduler may wake a thread on the caller's processor and keep it there for many passes even
 * if another processor is idle; a pass then takes as long as on one thread. So the thread moves to
 * another processor once, and keeps its whole affinity mask. */
static void leave_the_callers_processor(spec_thread_pool *pool)
{
    const int here = sched_getcpu();
    cpu_set_t all, others;
    if (here < 0 || here != atomic_load_explicit(&pool->processor, memory_order_relaxed) ||
        sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    others = all;
    CPU_CLR((size_t)here, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof all, &all);
}

/* A thread yields now and then between two chunks: if it were preempted within a chunk, it would
 * delay the job. */
static void *run_member(void *self)
{
    spec_thread_pool *const pool = self;
    uselocale(pool->locale);
    leave_the_callers_processor(pool);
    int64_t turn = now(), busy = turn, looked = turn;
    for (int waited = 0; !atomic_load_explicit(&pool->stop, memory_order_relaxed);) {
        if (do_part(pool)) {
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
            if (atomic_load_explicit(&pool->locked, memory_order_relaxed)) busy = turn;
            if (turn - busy >= LINGER) {
                sleep_until_locked(pool);
                waited = 0;
                busy = turn = now();
                looked = turn - TURN;
            }
        }
        if (turn - looked < TURN) continue;
        leave_the_callers_processor(pool);
        looked = turn;
    }
    return NULL;
}

/* Starts n threads besides the caller's, or as many as the system grants. */
static void start(spec_thread_pool *pool, int n)
{
    pool->wanted = n;
    pool->locale = uselocale((locale_t)0);
    pool->thread = malloc((size_t)n * sizeof *pool->thread);
    const int most = pool->thread != NULL ? n : 0;
    /* Signals must go to the threads of the program. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->n_threads < most &&
           pthread_create(&pool->thread[pool->n_threads], NULL, run_member, pool) == 0)
        pool->n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pool->n_threads == n || atomic_load(&pool->missed) > n) return;
    atomic_store(&pool->granted, pool->n_threads + 1);
    atomic_store(&pool->missed, n + 1);
}

static void stop(spec_thread_pool *pool)
{
    atomic_store(&pool->stop, true);
    wake_all(pool);
    for (int i = 0; i < pool->n_threads; i++) pthread_join(pool->thread[i], NULL);
    atomic_store(&pool->stop, false);
    free(pool->thread);
    pool->thread = NULL;
    pool->n_threads = pool->wanted = 0;
}

int spec_thread_pool_init(spec_thread_pool **ret_pool, int size, spec_error *error)
{
    spec_thread_pool *pool = aligned_alloc(LINE, sizeof *pool);
    *ret_pool = pool;
    if (pool == NULL) return spec_no_memory(error);
    memset(pool, 0, sizeof *pool);
    pthread_mutex_init(&pool->sleep, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->process = getpid();
    atomic_store(&pool->chosen, size);
    return GSL_SUCCESS;
}

/* A forked child has none of the pool's threads, and its copy of a lock may stay held. */
void spec_thread_pool_free(spec_thread_pool *pool)
{
    if (pool == NULL) return;
    if (pool->process == getpid()) {
        stop(pool);
        pthread_cond_destroy(&pool->wake);
        pthread_mutex_destroy(&pool->sleep);
    }
    free(pool->thread);
    free(pool);
}

int spec_thread_pool_size(const spec_thread_pool *opt_pool)
{
    if (opt_pool == NULL || omp_in_parallel()) return 1;
    const int chosen = atomic_load_explicit(&opt_pool->chosen, memory_order_relaxed);
    return chosen > 0 ? chosen : omp_get_max_threads();
}

void spec_thread_pool_set_size(spec_thread_pool *pool, int size)
{
    atomic_store(&pool->chosen, size);
}

int spec_thread_pool_missing(const spec_thread_pool *pool, int *ret_granted)
{
    *ret_granted = atomic_load(&pool->granted);
    return atomic_load(&pool->missed);
}

spec_thread_pool *spec_thread_pool_try_lock(spec_thread_pool *opt_pool)
{
    spec_thread_pool *const pool = opt_pool;
    const int size = spec_thread_pool_size(pool);
    bool free_until_now = false;
    if (size == 1 || pool->process != getpid() ||
        !atomic_compare_exchange_strong(&pool->locked, &free_until_now, true))
        return NULL;
    atomic_store_explicit(&pool->processor, sched_getcpu(), memory_order_relaxed);
    if (pool->wanted != size - 1) {
        stop(pool);
        start(pool, size - 1);
    }
    wake_all(pool);
    return pool;
}

void spec_thread_pool_unlock(spec_thread_pool *opt_locked)
{
    if (opt_locked != NULL) atomic_store(&opt_locked->locked, false);
}

void spec_thread_pool_run(spec_thread_pool *opt_locked, spec_thread_pool_work *work, void *job,
                          int n)
{
    spec_thread_pool *const pool = opt_locked;
    if (pool == NULL || n <= 1) {
        for (int i = 0; i < n; i++) work(job, i);
        return;
    }
    const int size = pool->n_threads < PARTS_MAX ? pool->n_threads + 1 : PARTS_MAX;
    pool->work = work;
    pool->job = job;
    pool->n = n;
    pool->parts = size < n ? size : n;
    for (int i = 0; i < pool->parts; i++) atomic_init(&pool->part[i].next, part_begin(pool, i));
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->left, pool->parts, memory_order_release);
    while (do_part(pool)) continue;
    for (int waited = 0; atomic_load_explicit(&pool->done, memory_order_acquire) < pool->parts;
         waited++) {
        if (waited < SPINS) PAUSE();
        else sched_yield();
    }
}
