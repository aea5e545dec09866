/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: what a verb says on standard error: errors, each in one line, and information. */
#ifndef SPECLAB_USAGE_H
#define SPECLAB_USAGE_H

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

#endif
