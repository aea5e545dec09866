/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: --help, --usage and --version of every verb, and the error line for a wrong option.
 * An argp child that takes no input. _parse keeps argp silent and prints every error itself, in one
 * line with the nearest option. It also starts the progress line (base/progress.h). */
#ifndef SPECLAB_USAGE_H
#define SPECLAB_USAGE_H

#if defined(__has_include) && !__has_include(<argp.h>)
#error "speclab needs glibc: this C library has no argp"
#endif
#include <argp.h>
#include <stdbool.h>

extern const struct argp spec_usage_argp;

/* Marks an argp_option that may be given several times. Giving any other option with a value twice
 * exits 2. */
enum { SPEC_OPTION_REPEATS = 0x1000 };

/* Print an error in one line, "speclab VERB: ...", on standard error. Control characters become
 * '?'. _fail then exits 2. */
__attribute__((format(printf, 2, 3))) void spec_usage_say(const char *verb, const char *format,
                                                          ...);
__attribute__((noreturn, format(printf, 2, 3))) void spec_usage_fail(const char *verb,
                                                                     const char *format, ...);

/* Fails with "out of memory". */
__attribute__((noreturn)) void spec_usage_no_memory(const char *verb);

/* Prints a line in the same form, wrapped on a terminal, with information that belongs to the
 * result. */
__attribute__((format(printf, 2, 3))) void spec_usage_tell(const char *verb, const char *format,
                                                           ...);

/* Does the same, but only if standard error is a terminal; for information that only people
 * read. */
__attribute__((format(printf, 2, 3))) void spec_usage_note(const char *verb, const char *format,
                                                           ...);

/* Calls argp_parse(argp, argc, argv, 0, NULL, input), where `argp` has spec_usage_argp among its
 * children. Exits 2 on a wrong option. */
void spec_usage_parse(const struct argp *argp, int argc, char **argv, void *input);

/* Returns whether the command line had an option; takes its long name. */
bool spec_usage_gave(const char *option);

#endif
