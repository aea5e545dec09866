/* SPDX-License-Identifier: GPL-3.0-or-later */
/* option_hints: what other engines and papers call an option, and what it is called here.
 * The hint about an unknown option names the option, the verbs that have it, or the key of a
 * model's spec. */
#ifndef SPECLAB_OPTION_HINTS_H
#define SPECLAB_OPTION_HINTS_H

#include <stdbool.h>
#include <stddef.h>

/* A verb's name, and a function that says whether the verb has an option, and with which letter (0:
 * none). */
typedef struct {
    const char *verb;
    bool (*has)(const void *self, const char *option, char *ret_letter);
    const void *self;
} spec_option_set;

enum { SPEC_OPTION_HINT_SIZE = 256 };

/* Returns a hint such as "there is no --gamma; the draft length is -K/--K" for a name without its
 * dashes; upper or lower case, - or _ do not matter. NULL for an unknown name. `dashes` is "-" or
 * "--". */
const char *spec_option_hint(char hint[SPEC_OPTION_HINT_SIZE], const char *dashes, const char *name,
                             const spec_option_set *options);

/* For tests: reads line i of the table, whose names are separated by blanks; returns false after
 * the last. */
bool spec_option_hint_line(int i, const char **ret_names, const char **ret_option,
                           const char **ret_verbs);

#endif
