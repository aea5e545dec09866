/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orphans: detects leftover child processes, by adopting them. */
#ifndef SPECLAB_TESTS_ORPHANS_H
#define SPECLAB_TESTS_ORPHANS_H

#include "tests/support/support.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Set-up of a group: orphans become children of this process instead of init's. */
static inline int orphans_adopt(void **state)
{
    (void)state;
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Asserts that no child is left, alive or a zombie. */
static inline void orphans_none(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* Asserts that within a minute at least `least` children have ended and no child is left. */
static inline void orphans_end(int least)
{
    int ended = 0;
    for (int ms = 0; ms < 60000; ms++) {
        const pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0) break;
        if (pid > 0) ended++;
        else usleep(1000);
    }
    assert_true(ended >= least);
    orphans_none();
}

#endif
