/* ward: a child process that may crash, hang, flood, fork or lie, and a channel to it: its standard input and output.
 * Every call ends within its time-out, and every way to end is one line of error. When a ward has ended, by itself or
 * by _end, no process of it is left. A ward is one thread's; many may live at once. keeper.h is the other side. */
#ifndef SPECLAB_WARD_H
#define SPECLAB_WARD_H

#include "conformance/samplers/subject.h"

typedef struct spec_ward spec_ward;

/* Start a child with a role of keeper.c: "exec", a command for the shell; "plugin", a shared library. opt_block: a
 * descriptor of shared memory for the child, or -1. Time-out, memory and opt_stop are those of `limits`: once *opt_stop
 * is set, what is under way ends with "interrupted". Standard output carries answers only; the last line on standard
 * error is quoted where the child fails, the rest is dropped. */
int spec_ward_start(spec_ward **ret, const char *role, const char *about, int opt_block,
                    const spec_subject_limits *limits, spec_error *error);

/* A new call begins: from here on it has limits.timeout seconds. */
void spec_ward_begin(spec_ward *ward);

/* Write everything; read at least `least` and at most `most` bytes. GSL_EFAILED where the child crashed, ended, stopped
 * itself, took too much memory, closed its end, or let the time-out pass: "it crashed (signal 11, Segmentation fault)", for the
 * caller to say who and at what. It has then ended, and fails all further calls. */
int spec_ward_write(spec_ward *ward, const void *bytes, size_t n, spec_error *error);
int spec_ward_read(spec_ward *ward, void *bytes, size_t least, size_t most, size_t *opt_ret_n, spec_error *error);

/* End it on the caller's own judgement, with its last words: "<what>; it said: '...'". Returns GSL_EFAILED. */
int spec_ward_give_up(spec_ward *ward, spec_error *error, const char *what);

/* Close its input, wait a moment for it to end by itself, and end what is left. NULL is fine. */
void spec_ward_end(spec_ward *ward);

#endif
