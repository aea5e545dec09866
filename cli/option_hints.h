/* SPDX-License-Identifier: GPL-3.0-or-later */
/* option_hints: what other engines and papers call an option, and what it is called here.
 * The hint about an unknown option names the option, the verbs that have it, or the key of a
 * model's spec. */
#ifndef SPECLAB_OPTION_HINTS_H
#define SPECLAB_OPTION_HINTS_H

#include <stdbool.h>
#include <stddef.h>

enum { SPEC_OPTION_HINT_VERBS = 256, SPEC_OPTION_HINT_SIZE = 512 };

/* A verb, and what is known of the options of all verbs: whether a verb has one, and with which
 * letter (0: none), and which verbs have it, "predict, sweep and run". */
typedef struct {
    const char *verb;
    bool (*has)(const char *verb, const char *option, char *ret_letter);
    void (*list_verbs)(char list[SPEC_OPTION_HINT_VERBS], const char *option);
} spec_option_set;

/* Returns a hint such as "there is no --gamma; the draft length is -K/--K" for a name without its
 * dashes; upper or lower case, - or _ do not matter. NULL for an unknown name. `dashes` is "-" or
 * "--". */
const char *spec_option_hint(char hint[SPEC_OPTION_HINT_SIZE], const char *dashes, const char *name,
                             const spec_option_set *options);

/* For tests: returns what other engines and papers call option i, separated by blanks; NULL after
 * the last. */
const char *spec_option_hint_names(int i);

#endif
