/* SPDX-License-Identifier: GPL-3.0-or-later */
/* supervisor: the process between speclab and an untrusted child process.
 * It starts the child, reads its standard error and limits its memory. When told to, or when
 * speclab ends, it kills the child with all its descendants. Programs that start children call
 * spec_supervisor_main first in main; child_process.h is the other side. */
#ifndef SPECLAB_SUPERVISOR_H
#define SPECLAB_SUPERVISOR_H

extern const char spec_supervisor_name[];

/* If argv[0] is spec_supervisor_name, runs the supervisor and exits; otherwise returns. A
 * supervisor is a fresh process of spec_subject_limits.supervisor: it inherits no threads, no locks
 * and no OpenMP state, so it may fork. */
void spec_supervisor_main(int argc, char **argv);

/* What a child can run: a line of the table in supervisor.c. */
typedef struct {
    const char *name;
    int (*run)(const char *about); /* called in the child; returns its exit code */
} spec_supervisor_role;

#endif
