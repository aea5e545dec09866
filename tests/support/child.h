/* SPDX-License-Identifier: GPL-3.0-or-later */
/* child: runs the program of the variable SPECLAB as a subprocess, with a time-out.
 * Tests run in a temporary folder of valid and broken files, which _set_up creates and _tear_down
 * removes. Without SPECLAB, every test that begins with spec_needs_program() is skipped. A failed
 * expectation fails the test. */
#ifndef SPECLAB_TESTS_CHILD_H
#define SPECLAB_TESTS_CHILD_H

#include "tests/support/support.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* SPEC_CHILD_TEXT: maximum bytes of a child's standard output, and of a file that is read whole.
 * SPEC_CHILD_KILLED: offset of a signal's number in spec_child.code. */
enum {
    SPEC_CHILD_TEXT = 1 << 18,
    SPEC_CHILD_KILLED = 1000,
    SPEC_CHILD_PATIENCE_MS = 300000,
    SPEC_CHILD_COMPLAINT = 8192
};

extern char spec_program[PATH_MAX]; /* "" without SPECLAB */

/* Called in each child before it becomes the program, say to close a descriptor; or NULL. */
extern void (*spec_child_before)(void);

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
    char line[4096];    /* standard error; at the end, without the line "assumed: ..." */
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

/* Reads until it ends; returns false if it said nothing for that long, and was killed. */
bool spec_child_ends(spec_child *c, int patience_ms);

/* Asserts that it ended with that code and one line on standard error, which begins with `begin`.
 * _complaint returns what is wrong, or NULL. */
const char *spec_child_complaint(char ret_text[SPEC_CHILD_COMPLAINT], const spec_child *c, int code,
                                 const char *begin);
void spec_child_says(const spec_child *c, const char *arguments, int code, const char *begin);

/* _ends asserts that it ends with that code, and that its standard output begins with `begin`. */
void spec_program_ends(const char *arguments, int code, const char *begin);

/* _prints asserts that it ends with that code, and that its standard output contains these
 * texts. */
#define spec_program_prints(arguments, code, ...)                                                  \
    spec_program_prints_all(arguments, code, (const char *const[]){__VA_ARGS__, NULL})
void spec_program_prints_all(const char *arguments, int code, const char *const *texts);

/* Returns the standard output of a command that ends with exit code 0; the caller frees it. _agree
 * asserts that two commands have the same output. */
char *spec_program_text(const char *arguments);
void spec_programs_agree(const char *arguments, const char *others);

/* _fails asserts that it ends with that code and one line that begins with `begin`, and writes
 * nothing to standard output; _works, that it ends with exit code 0. */
void spec_program_fails(const char *arguments, int code, const char *begin);
void spec_program_works(const char *arguments);

/* Runs a command that resumes its file, and whose work takes `seconds` of processor time. The
 * system kills it at once, then after a 20th of these seconds, two 20ths and so on, until it ends
 * with exit code 0 and prints `opt_text`. A command that began again each time would need all 20:
 * 15 kills fail. Returns how often it was killed. */
int spec_program_outlives_kills(const char *arguments, double seconds, const char *opt_text);

/* ---- waiting for a state, however long that takes on a busy machine ---- */

/* Waits until the condition holds, testing it every millisecond. */
#define spec_await(condition)                                                                      \
    do {                                                                                           \
        for (int ms_ = 0; !(condition); ms_++, spec_pause(1))                                      \
            if (ms_ >= SPEC_CHILD_PATIENCE_MS)                                                     \
                fail_msg("not within %d s: %s", SPEC_CHILD_PATIENCE_MS / 1000, #condition);        \
    } while (0)

/* Conditions of a child: it has ended; it has a handler of the signal; it is blocked in a system
 * call, such as SYS_read. */
bool spec_child_ended(pid_t pid);
bool spec_child_catches(pid_t pid, int number);
bool spec_child_is_in(pid_t pid, long call);

/* Return the seconds of processor time that the child has used, and those of all children that have
 * ended. */
double spec_child_seconds(pid_t pid);
double spec_children_seconds(void);

/* Returns the size of a file, 0 if there is none. */
off_t spec_file_size(const char *name);

/* Returns the bytes of a file, which the caller frees; empty if the file does not exist. */
char *spec_file_bytes(const char *name);
void spec_file_write(const char *name, const char *text);
void spec_files_same(const char *name, const char *other);

void spec_pause(long ms);

#endif
