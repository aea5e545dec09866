#include "base/team.h"

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
    PARTS_MAX = 64,        /* of a job */
    LINE = 64,             /* bytes of a cache line */
    SPINS = 200,           /* pauses before a waiting thread yields: some microseconds */
    TURN = 1000 * 1000,    /* nanoseconds of work after which a member yields, and looks where it is */
    LINGER = 200 * 1000    /* nanoseconds that a member waits for the next pass before it sleeps */
};

/* A job's chunks in as many parts as there are threads: who takes a part goes through it from its first chunk on, so
 * that it reads on where it was, and then through what others have left of theirs. A job is published by `left`:
 * whoever takes a part off it may read the job, which cannot be over before that part is. So a thread that the
 * system has put aside holds nobody up unless it has a chunk in hand. */
static struct {
    _Alignas(LINE) atomic_int left; /* parts of the job that nobody has taken; less than 1: none */
    spec_team_work *work;
    void *job;
    int n, parts;
    _Alignas(LINE) atomic_int done; /* parts that are ready */
    struct {
        _Alignas(LINE) atomic_int next; /* chunk */
    } part[PARTS_MAX];

    _Alignas(LINE) atomic_bool taken;
    atomic_bool stop;
    atomic_int processor;       /* the caller's, as it took the team */
    pthread_mutex_t sleep;      /* guards `asleep` */
    pthread_cond_t wake;
    atomic_int asleep;

    pthread_mutex_t members;    /* guards what follows */
    int holders;
    pthread_t *thread;
    int n_threads;              /* besides the caller's */
    bool forks;                 /* after_fork is known to the system */
} team = {
    .sleep = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .members = PTHREAD_MUTEX_INITIALIZER};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int part_begin(int part)
{
    return (int)((int64_t)team.n * part / team.parts);
}

/* Take a part of whatever job there is, and do what is not done of all; false where there is none. */
static bool do_part(void)
{
    if (atomic_load_explicit(&team.left, memory_order_relaxed) < 1) return false;
    const int left = atomic_fetch_sub_explicit(&team.left, 1, memory_order_acquire);
    if (left < 1) return false;
    for (int i = 0; i < team.parts; i++) {
        const int part = (team.parts - left + i) % team.parts, end = part_begin(part + 1);
        for (int c; (c = atomic_fetch_add_explicit(&team.part[part].next, 1, memory_order_relaxed)) < end;)
            team.work(team.job, c);
    }
    atomic_fetch_add_explicit(&team.done, 1, memory_order_release);
    return true;
}

static void sleep_until_taken(void)
{
    pthread_mutex_lock(&team.sleep);
    atomic_fetch_add(&team.asleep, 1);
    while (!atomic_load(&team.taken) && !atomic_load(&team.stop)) pthread_cond_wait(&team.wake, &team.sleep);
    atomic_fetch_sub(&team.asleep, 1);
    pthread_mutex_unlock(&team.sleep);
}

static void wake_all(void)
{
    if (atomic_load(&team.asleep) == 0) return;
    pthread_mutex_lock(&team.sleep);
    pthread_cond_broadcast(&team.wake);
    pthread_mutex_unlock(&team.sleep);
}

/* A thread that wakes may be put where the caller runs, and left there for many passes though another processor is
 * idle: a pass then takes as long as by one thread. So it goes elsewhere, and is free to be moved again. */
static void leave_the_callers_processor(void)
{
    const int here = sched_getcpu();
    cpu_set_t all, others;
    if (here < 0 || here != atomic_load_explicit(&team.processor, memory_order_relaxed) ||
        sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    others = all;
    CPU_CLR((size_t)here, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof all, &all);
}

/* A member offers its core to others now and then, with no chunk in hand: were it put aside in the midst of one, the
 * job would wait for its next turn. */
static void *run_member(void *unused)
{
    (void)unused;
    leave_the_callers_processor();
    int64_t turn = now(), busy = turn, looked = turn;
    for (int waited = 0; !atomic_load_explicit(&team.stop, memory_order_relaxed);) {
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
            if (atomic_load_explicit(&team.taken, memory_order_relaxed)) busy = turn;
            if (turn - busy >= LINGER) {
                sleep_until_taken();
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

/* The child of a fork has none of the threads. */
static void before_fork(void)
{
    pthread_mutex_lock(&team.members);
    pthread_mutex_lock(&team.sleep);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&team.sleep);
    pthread_mutex_unlock(&team.members);
}

static void after_fork_in_child(void)
{
    free(team.thread);
    team.thread = NULL;
    team.n_threads = 0;
    atomic_store(&team.asleep, 0);
    atomic_store(&team.taken, false);
    team.wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pthread_mutex_unlock(&team.sleep);
    pthread_mutex_unlock(&team.members);
}

/* Have n threads besides the caller's, or as many as the system gives. `members` is held. */
static void start(int n)
{
    if (!team.forks) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    team.forks = true;
    team.thread = malloc((size_t)n * sizeof *team.thread);
    if (team.thread == NULL) return;
    /* Signals are for the threads that the program knows of. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (team.n_threads < n && pthread_create(&team.thread[team.n_threads], NULL, run_member, NULL) == 0)
        team.n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop(void)
{
    atomic_store(&team.stop, true);
    wake_all();
    for (int i = 0; i < team.n_threads; i++) pthread_join(team.thread[i], NULL);
    atomic_store(&team.stop, false);
    free(team.thread);
    team.thread = NULL;
    team.n_threads = 0;
}

void spec_team_hold(void)
{
    pthread_mutex_lock(&team.members);
    team.holders++;
    pthread_mutex_unlock(&team.members);
}

void spec_team_release(void)
{
    pthread_mutex_lock(&team.members);
    if (--team.holders == 0) stop();
    pthread_mutex_unlock(&team.members);
}

int spec_team_size(void)
{
    return omp_in_parallel() ? 1 : omp_get_max_threads();
}

bool spec_team_take(void)
{
    const int size = spec_team_size();
    bool free_until_now = false;
    if (size == 1 || !atomic_compare_exchange_strong(&team.taken, &free_until_now, true)) return false;
    atomic_store_explicit(&team.processor, sched_getcpu(), memory_order_relaxed);
    pthread_mutex_lock(&team.members);
    if (team.n_threads != size - 1) {
        stop();
        if (team.holders > 0) start(size - 1);
    }
    pthread_mutex_unlock(&team.members);
    wake_all();
    return true;
}

void spec_team_give_back(void)
{
    atomic_store(&team.taken, false);
}

void spec_team_run(spec_team_work *work, void *job, int n, bool taken)
{
    if (!taken || n <= 1) {
        for (int i = 0; i < n; i++) work(job, i);
        return;
    }
    const int size = team.n_threads < PARTS_MAX ? team.n_threads + 1 : PARTS_MAX;
    team.work = work;
    team.job = job;
    team.n = n;
    team.parts = size < n ? size : n;
    for (int i = 0; i < team.parts; i++) atomic_init(&team.part[i].next, part_begin(i));
    atomic_store_explicit(&team.done, 0, memory_order_relaxed);
    atomic_store_explicit(&team.left, team.parts, memory_order_release);
    while (do_part()) continue;
    for (int waited = 0; atomic_load_explicit(&team.done, memory_order_acquire) < team.parts; waited++) {
        if (waited < SPINS) PAUSE();
        else sched_yield();
    }
}
