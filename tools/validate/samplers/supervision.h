/* SPDX-License-Identifier: GPL-3.0-or-later */
/* supervision: the descriptors and the reports between speclab, a supervisor and its child.
 * The supervisor itself is in supervisor.h; child_process.h starts it and reads its reports. */
#ifndef SPECLAB_SUPERVISION_H
#define SPECLAB_SUPERVISION_H

#include <stdint.h>

/* The descriptors of a supervisor. Its arguments are the role, the role's argument (a command or a
 * path), and the memory limit in bytes. */
enum {
    SPEC_SUPERVISOR_COMMANDS = 0, /* the child's standard input: a socket */
    SPEC_SUPERVISOR_ANSWERS = 1,  /* its standard output: a pipe */
    SPEC_SUPERVISOR_LIFELINE = 3, /* a socket to speclab: when it closes, the child is killed */
    SPEC_SUPERVISOR_BLOCK = 4     /* shared memory, if the role needs any */
};

/* Reports on the lifeline: the first says that the child has started, the last how it ended. */
typedef enum {
    SPEC_SUPERVISOR_STARTED,   /* status: process id of the child, which leads a process group */
    SPEC_SUPERVISOR_ENDED,     /* the child exited or was killed by a signal */
    SPEC_SUPERVISOR_TOLD,      /* speclab closed the lifeline */
    SPEC_SUPERVISOR_MEMORY,    /* the child exceeded the memory limit */
    SPEC_SUPERVISOR_STOPPED,   /* the child stopped itself */
    SPEC_SUPERVISOR_NOT_FORKED /* the child could not be started; status: errno */
} spec_supervisor_why;

typedef struct {
    int32_t why, status; /* status as from waitpid */
    char words[200];     /* last non-empty line on the child's standard error, or "" */
} spec_supervisor_report;

#endif
