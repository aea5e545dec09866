/* SPDX-License-Identifier: GPL-3.0-or-later */
/* child: runs the program of the variable SPECLAB as a subprocess, with a time-out.
 * Tests run in a temporary folder of valid and broken files, which _set_up creates and _tear_down
 * removes. Without SPECLAB, every test that begins with spec_needs_program() is skipped. A failed
 * expectation fails the test. */
#ifndef SPECLAB_TESTS_CHILD_H
#define SPECLAB_TESTS_CHILD_H

#include "tests/support/support.h"

#include <limits.h>
#include <sys/types.h>

/* SPEC_CHILD_TEXT: most bytes of a child's standard output, and of a file read whole.
 * SPEC_CHILD_KILLED: offset of a signal's number in spec_child.code. */
enum { SPEC_CHILD_TEXT = 1 << 18, SPEC_CHILD_KILLED = 1000, SPEC_CHILD_PATIENCE_MS = 300000 };

extern char spec_program[PATH_MAX]; /* "" without SPECLAB */

#define spec_needs_program()                                                                       \
    do {                                                                                           \
        if (spec_program[0] == '\0') {                                                             \
            printf("skipped: %s: SPECLAB does not name the program\n", __func__);                  \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

/* A subprocess and its output. */
typedef struct {
    pid_t pid;
    int out, err;    /* read ends, or -1 */
    char *text;      /* (SPEC_CHILD_TEXT) standard output */
    size_t n;
    char line[4096];    /* standard error, at the end without the line of what is assumed */
    char assumed[1024]; /* that line, "speclab serve: assumed: ...", or "" */
    size_t n_line;
    int code;        /* exit code, or SPEC_CHILD_KILLED + the signal */
} spec_child;

int spec_program_set_up(void **state);
int spec_program_tear_down(void **state);

/* Starts it with arguments separated by blanks ('' is an empty one). opt_environment: "NAME=value"
 * sets a variable, "NAME" unsets it. opt_stdout_path: a file for standard output instead of a
 * pipe. */
void spec_child_start(spec_child *c, const char *opt_environment, const char *opt_stdout_path,
                      const char *arguments);

/* Reads until it ends, or until its standard output contains `opt_until`. */
void spec_child_listen(spec_child *c, const char *opt_until);
void spec_child_run(spec_child *c, const char *arguments);
void spec_child_free(spec_child *c);

/* Asserts that it ended with that code and one line on standard error, which begins with
 * `begin`. */
void spec_child_says(const spec_child *c, const char *arguments, int code, const char *begin);

/* _ends: it ends with that code, and its standard output begins with `begin`. */
void spec_program_ends(const char *arguments, int code, const char *begin);

/* _fails: it ends with that code and one line that begins with `begin`, and writes nothing to
 * standard output. _works: exit code 0. */
void spec_program_fails(const char *arguments, int code, const char *begin);
void spec_program_works(const char *arguments);

/* Starts a command that resumes again and again, and kills it at times that differ, until it ends
 * by itself with exit code 0. Returns the number of kills. */
int spec_program_outlives_kills(const char *arguments);

/* The bytes of a file, which the caller frees; empty if the file does not exist. */
char *spec_file_bytes(const char *name);
void spec_file_write(const char *name, const char *text);
void spec_files_same(const char *name, const char *other);

void spec_pause(long ms);

#endif
