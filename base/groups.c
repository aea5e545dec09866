/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/groups.h"

#include "base/parallel.h"
#include "speclab/no_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct {
    const spec_groups *groups;
    uint64_t first, step;
    spec_groups_take *take;
    void *self;
    pthread_mutex_t lock; /* protects the fields below, and calls of `take` */
    char **text;          /* results not yet taken, by item */
    uint64_t taken, bad;  /* the number of items taken; the first item that failed */
    int status;           /* status of item `bad` */
    spec_error error;
} job;

static void fail_item(job *j, uint64_t item, int status, const spec_error *error)
{
    if (item >= j->bad) return;
    j->bad = item;
    j->status = status;
    j->error = *error;
}

/* Takes the results that are next in order. */
static void take_next(job *j)
{
    for (; j->taken < j->bad && j->text[j->taken] != NULL; j->taken++) {
        spec_error error = {""};
        const uint64_t group = j->first + j->taken * j->step;
        const int status = j->take(j->self, group, j->text[j->taken], &error);
        free(j->text[j->taken]);
        j->text[j->taken] = NULL;
        if (status != GSL_SUCCESS) fail_item(j, j->taken, status, &error);
        spec_listener_tell(j->groups->opt_listener,
                           (double)(group + 1) / (double)j->groups->n);
    }
}

/* Items start in order, so every item before the first failure is computed. */
static void run_item(void *self, uint64_t item, int worker)
{
    job *j = self;
    spec_error error = {""};
    char *text = NULL;
    (void)worker;
    pthread_mutex_lock(&j->lock);
    const bool needed = item < j->bad;
    pthread_mutex_unlock(&j->lock);
    if (!needed) return;
    const int status =
        j->groups->compute(j->groups->self, &text, j->first + item * j->step, &error);
    pthread_mutex_lock(&j->lock);
    j->text[item] = text;
    if (status != GSL_SUCCESS) fail_item(j, item, status, &error);
    take_next(j);
    pthread_mutex_unlock(&j->lock);
}

int spec_groups_run(const spec_groups *groups, uint64_t first, uint64_t step,
                    spec_groups_take *take, void *self, spec_error *error)
{
    const uint64_t items = first < groups->n ? (groups->n - first - 1) / step + 1 : 0;
    job j = {.groups = groups,
             .first = first,
             .step = step,
             .take = take,
             .self = self,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .text = calloc(items + 1, sizeof *j.text),
             .bad = UINT64_MAX,
             .status = GSL_SUCCESS};
    if (j.text == NULL) return spec_no_memory(error);
    spec_parallel_run(groups->opt_pool, run_item, &j, items,
                      spec_thread_pool_size(groups->opt_pool));
    for (uint64_t i = 0; i < items; i++) free(j.text[i]);
    free(j.text);
    return j.status == GSL_SUCCESS ? GSL_SUCCESS : spec_fail(error, j.status, "%s", j.error.text);
}

static int add(void *self, uint64_t group, const char *text, spec_error *error)
{
    const spec_groups *groups = self;
    (void)group;
    return groups->add(groups->self, text, error);
}

int spec_groups_add_all(const spec_groups *groups, spec_error *error)
{
    spec_groups all = *groups;
    return spec_groups_run(groups, 0, 1, add, &all, error);
}
