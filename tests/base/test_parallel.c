/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/parallel.h"

#include "tests/support/support.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { ITEMS = 1000, WORKERS = 5 };

typedef struct {
    atomic_int done[ITEMS], busy[WORKERS];
    atomic_bool twice;
} job;

static void do_item(void *self, uint64_t item, int worker)
{
    job *j = self;
    if (atomic_fetch_add(&j->busy[worker], 1) != 0) atomic_store(&j->twice, true);
    atomic_fetch_add(&j->done[item], 1);
    atomic_fetch_sub(&j->busy[worker], 1);
}

static spec_thread_pool *pool_of(int size)
{
    spec_thread_pool *pool;
    assert_int_equal(spec_thread_pool_init(&pool, size, NULL), GSL_SUCCESS);
    return pool;
}

TEST(each_item_is_done_once_by_a_worker_that_does_one_at_a_time)
{
    static const uint64_t items[] = {0, 1, 2, WORKERS, ITEMS};
    static const int workers[] = {1, 2, WORKERS};
    spec_thread_pool *pool = pool_of(WORKERS);
    for (int w = 0; w < 3; w++) {
        for (int i = 0; i < 5; i++) {
            job j = {.twice = false};
            spec_parallel_run(pool, do_item, &j, items[i], workers[w]);
            for (uint64_t k = 0; k < ITEMS; k++) assert_int_equal(j.done[k], k < items[i]);
            assert_false(j.twice);
        }
    }
    spec_thread_pool_free(pool);
}

typedef struct {
    spec_thread_pool *pool;
    atomic_int all;
} nest;

static void note_nested(void *self, uint64_t item, int worker)
{
    nest *n = self;
    (void)item;
    (void)worker;
    atomic_fetch_add(&n->all, 1);
}

static void run_nested(void *self, uint64_t item, int worker)
{
    (void)item;
    (void)worker;
    spec_parallel_run(((nest *)self)->pool, note_nested, self, 7, 3);
}

TEST(a_job_within_a_job_is_done_by_its_own_thread)
{
    nest n = {.pool = pool_of(3)};
    spec_parallel_run(n.pool, run_nested, &n, 11, 3);
    assert_int_equal(n.all, 77);
    spec_thread_pool_free(n.pool);
}

TEST(the_size_of_a_pool_is_the_chosen_one)
{
    spec_thread_pool *pool = pool_of(3);
    assert_int_equal(spec_thread_pool_size(pool), 3);
    omp_set_num_threads(2);
    spec_thread_pool_set_size(pool, 4);
    assert_int_equal(spec_thread_pool_size(pool), 4);
    spec_thread_pool_set_size(pool, 0);
    assert_int_equal(spec_thread_pool_size(pool), 2);
    spec_thread_pool_free(pool);
}

/* Stacks of 64 GB: the address space holds about two thousand. */
TEST(what_the_system_does_not_grant_is_done_without)
{
    enum { MANY = 4000 };
    static job j;
    pthread_attr_t attributes;
    int granted;
    spec_thread_pool *pool = pool_of(MANY);
    assert_int_equal(spec_thread_pool_missing(pool, &granted), 0);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)1 << 36), 0);
    assert_int_equal(pthread_setattr_default_np(&attributes), 0);
    spec_parallel_run(pool, do_item, &j, ITEMS, WORKERS);
    assert_int_equal(spec_thread_pool_missing(pool, &granted), MANY);
    assert_in_range(granted, 1, MANY - 1);
    for (int k = 0; k < ITEMS; k++) assert_int_equal(j.done[k], 1);
    pthread_attr_destroy(&attributes);
    spec_thread_pool_free(pool);
}
