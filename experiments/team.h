/* SPDX-License-Identifier: GPL-3.0-or-later */
/* team: the processes that share one run: members compute points, and the leader writes them.
 * Every process runs the same command. mpi/team_mpi.c is the only kind; all calls come from the
 * main thread. A point goes from a member to the leader as bytes (experiments/point_message.h). */
#ifndef SPECLAB_TEAM_H
#define SPECLAB_TEAM_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct spec_team {
    void *self;
    bool leads;

    /* The leader: wait for point `index` of a run with `end` points, and return the bytes that a
     * member gave; the caller frees them. Points are taken in ascending order, and dealt from the
     * first one taken on. GSL_EFAILED: *opt_stop was set, or no member is left. */
    int (*take)(void *self, char **ret_bytes, size_t *ret_size, uint64_t index, uint64_t end,
                const volatile int *opt_stop, spec_error *error);

    /* A member: the next point to compute, or false after the last one; then give its bytes. */
    bool (*next)(void *self, uint64_t *ret_index);
    void (*give)(void *self, const char *bytes, size_t size);
    /* A member that cannot compute: the reason ends the leader's run. */
    void (*leave)(void *self, const char *why);
} spec_team;

#endif
