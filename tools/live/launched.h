/* SPDX-License-Identifier: GPL-3.0-or-later */
/* launched: a server that is started by a command, and stopped with everything that it started.
 * It runs in its own process group, watched by a small process that ends the group when this
 * program ends, even if it is killed. What the server prints goes into a log. */
#ifndef SPECLAB_LAUNCHED_H
#define SPECLAB_LAUNCHED_H

#include "speclab/status.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    pid_t watcher; /* 0: nothing runs */
    int leash;     /* the watcher ends the server when this is closed */
    const char *log;
} spec_launched;

/* Runs `command` in a shell, with the draft length in place of each {K}. Truncates the log, whose
 * name must outlive the server. Returns GSL_EFAILED if it cannot be started. */
int spec_launched_start(spec_launched *ret, const char *command, int K, const char *log,
                        spec_error *error);

/* Returns GSL_EFAILED if the server has ended, with its exit status, the log and its last line. */
int spec_launched_check(spec_launched *launched, spec_error *error);

/* Asks the process group to end, and after ten seconds kills it. Returns when it has ended. */
void spec_launched_stop(spec_launched *launched);

#endif
