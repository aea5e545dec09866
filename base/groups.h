/* SPDX-License-Identifier: GPL-3.0-or-later */
/* groups: a long computation in numbered groups of work, whose results are lines of text.
 * Threads, processes and machines may compute the groups in any order. Results are taken in the
 * order of their numbers, so that sums do not depend on who computed them. */
#ifndef SPECLAB_GROUPS_H
#define SPECLAB_GROUPS_H

#include "base/thread_pool.h"
#include "speclab/listener.h"

#include <stdint.h>

typedef struct {
    uint64_t n;
    spec_thread_pool *opt_pool; /* computes several groups at once; NULL: one after the other */
    const spec_listener *opt_listener;
    void *self;
    /* The result of a group, on any thread. The caller frees it. */
    int (*compute)(void *self, char **ret_text, uint64_t group, spec_error *error);
    /* Count the result of the next group. GSL_EINVAL for a text that is not from this group. */
    int (*add)(void *self, const char *text, spec_error *error);
} spec_groups;

/* Take the result of a group. Called in ascending order, by one thread at a time. */
typedef int spec_groups_take(void *self, uint64_t group, const char *text, spec_error *error);

/* Compute groups first, first + step, ..., and have each result taken. On failure the status and
 * the line of the first group that failed; all results before it were taken. */
int spec_groups_run(const spec_groups *groups, uint64_t first, uint64_t step,
                    spec_groups_take *take, void *self, spec_error *error);

/* Compute all groups, and add them. */
int spec_groups_add_all(const spec_groups *groups, spec_error *error);

#endif
