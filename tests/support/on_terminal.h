/* SPDX-License-Identifier: GPL-3.0-or-later */
/* on_terminal: runs the program of SPECLAB on a pseudo-terminal, and returns its final screen.
 * Standard output and standard error are the terminal, as for a user; needs spec_program_set_up
 * (tests/support/child.h). The screen interprets "\r", "\n" and "\033[K". The program may send
 * nothing else, besides colours. */
#ifndef SPECLAB_TESTS_ON_TERMINAL_H
#define SPECLAB_TESTS_ON_TERMINAL_H

#include "tests/support/child.h"

typedef struct {
    char *sent;   /* all bytes that the program sent, in order */
    char *screen; /* the lines on the final screen; no cursor movements, no colours */
    int code;     /* as in spec_child */
    const char *arguments;
    pid_t pid;
    int master; /* the other end of the pseudo-terminal */
    size_t n_sent;
    int waited; /* ms without a byte */
} spec_terminal;

/* Starts it, with "NAME=value" in its environment. `arguments` must outlive the terminal. */
void spec_terminal_start(spec_terminal *terminal, int columns, const char *opt_environment,
                         const char *arguments);

/* _await reads until the text has appeared, and _finish until the program's end. */
void spec_terminal_await(spec_terminal *terminal, const char *text);
void spec_terminal_finish(spec_terminal *terminal);

/* Starts it and waits for its end. */
void spec_terminal_run(spec_terminal *terminal, int columns, const char *opt_environment,
                       const char *arguments);
void spec_terminal_free(spec_terminal *terminal);

/* Returns the columns of the widest line of a UTF-8 text, and the start of that line. A command to
 * type does not count, because it is not broken. */
int spec_terminal_widest(const char *text, const char **ret_line);

#endif
