/* SPDX-License-Identifier: GPL-3.0-or-later */
/* child_process: an untrusted subprocess, and a channel to its standard input and output.
 * The child may crash, hang, flood or fork. Every call returns within its time-out; every failure
 * gives a one-line error. Once a child has ended, by itself or by _end, none of its descendants is
 * left. One thread uses a child; many children may run at once. supervisor.h is the other side. */
#ifndef SPECLAB_CHILD_PROCESS_H
#define SPECLAB_CHILD_PROCESS_H

#include "tools/validate/samplers/subject.h"

typedef struct spec_child_process spec_child_process;

/* Starts a child with a role of supervisor.c: "exec", a command for the shell; "plugin", a shared
 * library. opt_block: a descriptor of shared memory for the child, or -1. `limits` gives the
 * supervisor, the time-out, the memory limit and opt_stop; once *opt_stop is set, a call in
 * progress ends with "interrupted". Standard output is only for answers. If the child fails, the
 * error quotes the last line on its standard error; earlier lines are dropped. Returns GSL_EFAILED
 * if no process can be started. */
int spec_child_process_start(spec_child_process **ret, const char *role, const char *about,
                             int opt_block, const spec_subject_limits *limits, spec_error *error);

/* Starts the time-out of a new call, limits.timeout seconds. */
void spec_child_process_begin(spec_child_process *child);

/* _write writes all n bytes; _read reads at least `least` and at most `most` bytes. Return
 * GSL_EFAILED if the child crashed, ended, stopped itself, exceeded its memory, closed its end, or
 * timed out: "it crashed (signal 11, Segmentation fault)"; the caller adds the sampler and the
 * call. The child has then ended, and all further calls fail. */
int spec_child_process_write(spec_child_process *child, const void *bytes, size_t n,
                             spec_error *error);
int spec_child_process_read(spec_child_process *child, void *bytes, size_t least, size_t most,
                            size_t *opt_ret_n, spec_error *error);

/* Returns whether the child ended because a call timed out; false for NULL. */
bool spec_child_process_is_late(const spec_child_process *child);

/* Kills the child and fails with `what` and the child's last line: "<what>; it said: '...'".
 * Returns GSL_EFAILED. */
int spec_child_process_kill(spec_child_process *child, spec_error *error, const char *what);

/* Closes the child's input, gives it a second to exit, and kills its remaining processes. Accepts
 * NULL. */
void spec_child_process_end(spec_child_process *child);

#endif
