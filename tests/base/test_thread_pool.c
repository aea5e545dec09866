/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/thread_pool.h"

#include "tests/support/support.h"

#include <dirent.h>
#include <locale.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHUNKS = 1000 };

typedef struct {
    atomic_int times[CHUNKS];
    int plain[CHUNKS]; /* written by the thread of the chunk, read by the caller */
} marks;

static void mark(void *job, int chunk)
{
    marks *m = job;
    atomic_fetch_add(&m->times[chunk], 1);
    m->plain[chunk] += chunk + 1;
}

static void expect(marks *m, int n, int times)
{
    for (int i = 0; i < CHUNKS; i++) {
        assert_int_equal(m->times[i], i < n ? times : 0);
        assert_int_equal(m->plain[i], i < n ? times * (i + 1) : 0);
    }
}

static spec_thread_pool *pool_of(int size)
{
    spec_thread_pool *pool;
    assert_int_equal(spec_thread_pool_init(&pool, size, NULL), GSL_SUCCESS);
    return pool;
}

TEST(every_chunk_is_done_once)
{
    static const int sizes[] = {1, 2, 3, 5};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        omp_set_num_threads(sizes[s]);
        spec_thread_pool *pool = pool_of(0);
        for (int n = 0; n <= CHUNKS; n = n * 3 + 1) {
            marks m = {0};
            for (int job = 0; job < 20; job++) {
                spec_thread_pool *locked = spec_thread_pool_try_lock(pool);
                assert_int_equal(locked != NULL, sizes[s] > 1);
                for (int again = 0; again < 5; again++) spec_thread_pool_run(locked, mark, &m, n);
                spec_thread_pool_unlock(locked);
            }
            expect(&m, n, 100);
        }
        spec_thread_pool_free(pool);
    }
}

static pthread_t caller;

static int64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void mark_late(void *job, int chunk)
{
    usleep(pthread_equal(caller, pthread_self()) ? 200 : 5000);
    mark(job, chunk);
}

TEST(the_caller_waits_for_the_last)
{
    caller = pthread_self();
    omp_set_num_threads(3);
    spec_thread_pool *pool = pool_of(0);
    assert_non_null(spec_thread_pool_try_lock(pool));
    for (int job = 0; job < 5; job++) {
        marks m = {0};
        spec_thread_pool_run(pool, mark_late, &m, 30);
        expect(&m, 30, 1);
    }
    spec_thread_pool_unlock(pool);
    spec_thread_pool_free(pool);
}

/* Where the pool thread ran its chunks; it moves to the caller's processor while `pull` is set. */
typedef struct {
    int callers;
    bool pull, apart;
    atomic_int begun; /* chunks of this job */
} whereabouts;

/* A chunk waits until the other one has begun, so that each of two threads has one. */
static void look_around(void *job, int chunk)
{
    whereabouts *w = job;
    (void)chunk;
    if (!pthread_equal(caller, pthread_self())) {
        if (w->pull) {
            cpu_set_t all, one;
            CPU_ZERO(&one);
            CPU_SET((size_t)w->callers, &one);
            if (sched_getaffinity(0, sizeof all, &all) == 0 &&
                sched_setaffinity(0, sizeof one, &one) == 0)
                sched_setaffinity(0, sizeof all, &all);
        }
        w->apart = w->apart || sched_getcpu() != w->callers;
    }
    atomic_fetch_add(&w->begun, 1);
    const int64_t until = nanoseconds() + 1000000;
    while (w->begun < 2 || nanoseconds() < until) continue;
}

/* The caller keeps its processor and never sleeps: a pool thread on the same processor would wait
 * for the scheduler. */
TEST(a_member_leaves_the_callers_processor)
{
    enum { PASSES = 20, JOBS = 4 /* each of a millisecond, after which the thread looks again */ };
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) {
        printf("skipped: there is one processor\n");
        skip();
    }
    caller = pthread_self();
    omp_set_num_threads(2);
    spec_thread_pool *pool = pool_of(0);
    assert_non_null(spec_thread_pool_try_lock(pool)); /* the pool thread may now run anywhere */
    spec_thread_pool_unlock(pool);
    whereabouts w = {.callers = sched_getcpu()};
    CPU_ZERO(&one);
    CPU_SET((size_t)w.callers, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    int left = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        assert_non_null(spec_thread_pool_try_lock(pool));
        for (int job = 0; job <= JOBS; job++) {
            w.pull = job == 0;
            if (job <= 1) w.apart = false;
            atomic_store(&w.begun, 0);
            spec_thread_pool_run(pool, look_around, &w, 2);
        }
        left += w.apart;
        spec_thread_pool_unlock(pool);
    }
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    spec_thread_pool_free(pool);
    printf("left in %d of %d passes\n", left, PASSES);
    assert_true(left >= PASSES / 2);
}

TEST(who_finds_it_taken_works_alone)
{
    omp_set_num_threads(2);
    spec_thread_pool *pool = pool_of(0);
    assert_non_null(spec_thread_pool_try_lock(pool));
    assert_null(spec_thread_pool_try_lock(pool));
    marks m = {0};
    spec_thread_pool_run(NULL, mark, &m, CHUNKS);
    expect(&m, CHUNKS, 1);
    spec_thread_pool_unlock(pool);
    assert_non_null(spec_thread_pool_try_lock(pool));
    spec_thread_pool_unlock(pool);
    spec_thread_pool_free(pool);
}

TEST(inside_a_parallel_region_everybody_works_alone)
{
    omp_set_num_threads(3);
    spec_thread_pool *pool = pool_of(0);
    atomic_int taken = 0;
#pragma omp parallel
    {
        if (spec_thread_pool_try_lock(pool) != NULL) atomic_fetch_add(&taken, 1);
    }
    assert_int_equal(taken, 0);
    spec_thread_pool_free(pool);
}

/* Sessions of several threads; each locks the pool when it is free. */
static spec_thread_pool *shared;

static void *read_own_text(void *result)
{
    for (int pass = 0; pass < 40; pass++) {
        omp_set_num_threads(2 + pass / 10 % 2);
        spec_thread_pool *locked = spec_thread_pool_try_lock(shared);
        for (int job = 0; job < 10; job++) spec_thread_pool_run(locked, mark, result, CHUNKS);
        spec_thread_pool_unlock(locked);
    }
    return NULL;
}

TEST(threads_share_it_in_turns)
{
    enum { READERS = 4 };
    static marks m[READERS];
    pthread_t reader[READERS];
    shared = pool_of(0);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&reader[i], NULL, read_own_text, &m[i]), 0);
    for (int i = 0; i < READERS; i++) pthread_join(reader[i], NULL);
    spec_thread_pool_free(shared);
    for (int i = 0; i < READERS; i++) expect(&m[i], CHUNKS, 400);
}

static int threads_now(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (readdir(tasks) != NULL) n++;
    closedir(tasks);
    return n;
}

/* The number of this process's threads that do not sleep. */
static int awake_now(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        char path[300], line[300];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) continue;
        if (fgets(line, sizeof line, file) != NULL) n += strstr(line, ") S ") == NULL;
        fclose(file);
    }
    closedir(tasks);
    return n;
}

TEST(it_sleeps_between_passes_and_ends_with_the_pool)
{
    omp_set_num_threads(3);
    spec_thread_pool *pool = pool_of(3);
    marks m = {0};
    for (int pass = 1; pass <= 3; pass++) {
        assert_non_null(spec_thread_pool_try_lock(pool));
        spec_thread_pool_run(pool, mark, &m, CHUNKS);
        spec_thread_pool_unlock(pool);
        for (int i = 0; i < 1000 && awake_now() > 1; i++) usleep(10000);
        assert_int_equal(awake_now(), 1);
        expect(&m, CHUNKS, pass);
    }
    /* The kernel lists a thread for a moment after it was joined, also those of earlier tests. */
    const int with_pool = threads_now();
    spec_thread_pool_free(pool);
    for (int i = 0; i < 1000 && threads_now() > with_pool - 2; i++) usleep(10000);
    assert_int_equal(threads_now(), with_pool - 2);
}

static void work_in_a_child(bool locked)
{
    spec_thread_pool *pool = pool_of(3);
    marks m = {0};
    assert_ptr_equal(spec_thread_pool_try_lock(pool), pool);
    spec_thread_pool_run(pool, mark, &m, CHUNKS);
    if (!locked) spec_thread_pool_unlock(pool);
    const pid_t child = fork();
    if (child == 0) {
        bool alone = true;
        for (int i = 0; i < 3; i++) {
            spec_thread_pool *own = spec_thread_pool_try_lock(pool);
            alone = alone && own == NULL;
            spec_thread_pool_run(own, mark, &m, CHUNKS);
            spec_thread_pool_unlock(own);
        }
        bool right = alone;
        for (int i = 0; i < CHUNKS; i++)
            right = right && m.times[i] == 4 && m.plain[i] == 4 * (i + 1);
        spec_thread_pool_free(pool);
        _exit(right ? 0 : 1);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    if (locked) spec_thread_pool_unlock(pool);
    assert_ptr_equal(spec_thread_pool_try_lock(pool), pool); /* the parent's threads remain */
    spec_thread_pool_run(pool, mark, &m, CHUNKS);
    spec_thread_pool_unlock(pool);
    expect(&m, CHUNKS, 2);
    spec_thread_pool_free(pool);
}

TEST(a_child_of_a_fork_works_on)
{
    work_in_a_child(false);
}

/* Another thread may have locked the pool when the process forks, and no thread of the child would
 * unlock it. */
TEST(a_child_of_a_fork_does_not_wait_for_a_lock)
{
    work_in_a_child(true);
}

TEST(without_a_pool_the_caller_works_alone)
{
    marks m = {0};
    assert_null(spec_thread_pool_try_lock(NULL));
    spec_thread_pool_run(NULL, mark, &m, CHUNKS);
    spec_thread_pool_unlock(NULL);
    expect(&m, CHUNKS, 1);
    assert_int_equal(spec_thread_pool_size(NULL), 1);
    spec_thread_pool_free(NULL);
}

typedef struct {
    pthread_t caller;
    locale_t expected;
    atomic_int right, wrong; /* chunks that ran on other threads */
} locales;

static void see_locale(void *job, int chunk)
{
    locales *l = job;
    struct timespec some = {.tv_nsec = 1000000};
    (void)chunk;
    nanosleep(&some, NULL);
    if (pthread_equal(pthread_self(), l->caller)) return;
    atomic_fetch_add(uselocale((locale_t)0) == l->expected ? &l->right : &l->wrong, 1);
}

TEST(its_threads_have_the_locale_of_the_caller)
{
    locales l = {.caller = pthread_self(), .expected = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    const locale_t before = uselocale(l.expected);
    spec_thread_pool *pool = pool_of(3);
    for (int job = 0; job < 1000 && l.right + l.wrong == 0; job++) {
        spec_thread_pool *locked = spec_thread_pool_try_lock(pool);
        spec_thread_pool_run(locked, see_locale, &l, 6);
        spec_thread_pool_unlock(locked);
    }
    spec_thread_pool_free(pool);
    uselocale(before);
    freelocale(l.expected);
    assert_true(l.right > 0);
    assert_int_equal(l.wrong, 0);
}
