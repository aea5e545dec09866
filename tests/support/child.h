/* child: the program of the environment variable SPECLAB as a child process, with a time-out.
 * Tests run in a temporary folder of files good and bad, which _set_up makes and _tear_down removes; without SPECLAB
 * every test that begins with spec_needs_program() is skipped. A failed expectation fails the test. */
#ifndef SPECLAB_TESTS_CHILD_H
#define SPECLAB_TESTS_CHILD_H

#include "tests/support/support.h"

#include <limits.h>
#include <sys/types.h>

/* Most bytes of a child's standard output, and of a file read whole; what a signal adds to its number in
 * spec_child.code. */
enum { SPEC_CHILD_TEXT = 1 << 18, SPEC_CHILD_KILLED = 1000, SPEC_CHILD_PATIENCE_MS = 300000 };

extern char spec_program[PATH_MAX]; /* "" without SPECLAB */

#define spec_needs_program()                                                                                           \
    do {                                                                                                               \
        if (spec_program[0] == '\0') {                                                                                 \
            printf("skipped: %s: SPECLAB does not name the program\n", __func__);                                      \
            skip();                                                                                                    \
        }                                                                                                              \
    } while (0)

/* One child and what it said. */
typedef struct {
    pid_t pid;
    int out, err;    /* read ends, or -1 */
    char *text;      /* (SPEC_CHILD_TEXT) standard output */
    size_t n;
    char line[4096]; /* standard error */
    size_t n_line;
    int code;        /* exit code, or SPEC_CHILD_KILLED + the signal */
} spec_child;

int spec_program_set_up(void **state);
int spec_program_tear_down(void **state);

/* Start it with arguments, which blanks separate ('' is an empty one), with "NAME=value" in its environment or without
 * "NAME", and with its standard output to a file instead of a pipe. */
void spec_child_start(spec_child *c, const char *opt_environment, const char *opt_stdout_path, const char *arguments);

/* Read until it ends, or until `opt_until` stands in its standard output. */
void spec_child_listen(spec_child *c, const char *opt_until);
void spec_child_run(spec_child *c, const char *arguments);
void spec_child_free(spec_child *c);

/* It ended with that code and one line on standard error, which begins so. */
void spec_child_says(const spec_child *c, const char *arguments, int code, const char *begin);

/* It fails with that code, in one line that begins so, and writes nothing on standard output. It works: exit code 0. */
void spec_program_fails(const char *arguments, int code, const char *begin);
void spec_program_works(const char *arguments);

/* The bytes of a file, which the caller frees; an empty text where there is none. */
char *spec_file_bytes(const char *name);
void spec_file_write(const char *name, const char *text);
void spec_files_same(const char *name, const char *other);

void spec_pause(long ms);

#endif
