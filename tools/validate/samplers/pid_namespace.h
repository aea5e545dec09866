/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pid_namespace: a child process in its own PID namespace, if the system allows one.
 * See pid_namespaces(7). The child sees only its own descendants, and all of them end with the
 * namespace's first process. That process belongs to speclab: it starts the child, reaps orphans,
 * and reports how the child ended. Linux; as root, or in a user namespace. */
#ifndef SPECLAB_PID_NAMESPACE_H
#define SPECLAB_PID_NAMESPACE_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    /* the namespace's first process, by its id in the parent, which must kill it and wait for it */
    pid_t first;
    /* a descriptor that is readable once: the status, as from waitpid, when the child has ended or
     * stopped */
    int ended;
} spec_pid_namespace;

/* Starts a child that runs `run` with `self`; its return value is the exit code. The calling
 * process must have a single thread; the child is killed when it ends. Returns false, with nothing
 * started, if the system allows no namespace. */
bool spec_pid_namespace_start(spec_pid_namespace *space, int (*run)(void *self), void *self);

#endif
