/* SPDX-License-Identifier: GPL-3.0-or-later */
/* team: the processes that share one run: members compute, and the leader writes.
 * Every process runs the same command. mpi/team_mpi.c is the only implementation; all calls come
 * from the main thread. A member hands over a point (experiments/point_message.h) or the result of
 * a group (base/groups.h) as bytes. */
#ifndef SPECLAB_TEAM_H
#define SPECLAB_TEAM_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A unit of work for a member. */
typedef struct {
    uint64_t list; /* 0: points; else groups, and this is the number of their point, from 1 */
    uint64_t item; /* number of the point or the group within its part of the run, from 0 */
} spec_task;

typedef struct spec_team {
    void *self;
    bool leads;
    int members;

    /* Called by the leader: waits for a task of a list with `end` items, and returns the bytes that
     * a member handed over, with a zero byte after them; the caller frees them. The leader takes
     * items in ascending order, and all of them before it begins the next list. Members get the
     * items of a list from the first one taken on. Returns GSL_EFAILED if *opt_stop was set or no
     * member is left. */
    int (*take)(void *self, char **ret_bytes, size_t *ret_size, const spec_task *task, uint64_t end,
                const volatile int *opt_stop, spec_error *error);

    /* Called by a member: `next` gets a task, or returns false after the last one; `give` then
     * hands over its bytes. */
    bool (*next)(void *self, spec_task *ret);
    void (*give)(void *self, const char *bytes, size_t size);
    /* Called by a member that cannot compute: hands over the reason, which ends the leader's
     * run. */
    void (*leave)(void *self, const char *why);
} spec_team;

#endif
