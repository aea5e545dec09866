/* SPDX-License-Identifier: GPL-3.0-or-later */
/* groups: splits a long computation into numbered groups, each of which returns a line of text.
 * Threads, processes and machines may compute the groups in any order. Results are taken in
 * numerical order, so sums do not depend on who computed them. */
#ifndef SPECLAB_GROUPS_H
#define SPECLAB_GROUPS_H

#include "base/thread_pool.h"
#include "speclab/listener.h"

#include <stdint.h>

typedef struct {
    uint64_t n;
    spec_thread_pool *opt_pool; /* computes several groups at once; NULL: one at a time */
    const spec_listener *opt_listener;
    void *self;
    /* Computes a group, on any thread. The caller frees the result. */
    int (*compute)(void *self, char **ret_text, uint64_t group, spec_error *error);
    /* Adds the result of the next group. Returns GSL_EINVAL if the text is not from this group. */
    int (*add)(void *self, const char *text, spec_error *error);
} spec_groups;

/* Takes the result of a group. It is called in ascending order, by one thread at a time. */
typedef int spec_groups_take(void *self, uint64_t group, const char *text, spec_error *error);

/* Computes groups first, first + step, ..., and passes each result to `take`. On failure, returns
 * the status and the message of the first group that failed; all results before it were taken. */
int spec_groups_run(const spec_groups *groups, uint64_t first, uint64_t step,
                    spec_groups_take *take, void *self, spec_error *error);

/* Computes all groups, and adds their results. */
int spec_groups_add_all(const spec_groups *groups, spec_error *error);

#endif
