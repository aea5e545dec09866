/* SPDX-License-Identifier: GPL-3.0-or-later */
/* names: looks up a name in a table, and suggests the nearest name if it is unknown.
 * A table provides its names through a function of the line number; a plain list of names is
 * NULL-terminated. The returned text belongs to the table. */
#ifndef SPECLAB_NAMES_H
#define SPECLAB_NAMES_H

#include "speclab/status.h"

/* Returns the name of line i = 0, 1, ... of a table; NULL after the last. */
typedef const char *spec_name_of(int i);

/* Returns the index of the line called `name`. Otherwise returns -1 and a message such as "no rule
 * is named 'tokne'; did you mean 'token'?", where `what` is "rule". If no name is near, the message
 * lists all names, or the command that lists them. */
int spec_names_find(spec_name_of *name_of, const char *name, const char *what, spec_error *error);

/* Returns the candidate nearest to `name` by edit distance, ignoring case, or NULL if none is near
 * enough. A transposition counts as one edit. A candidate is near enough if the distance is at most
 * a third of the longer length (rounded, but at least 1) and less than the length of the name; or
 * if `name` has at least four letters and the candidate begins with it. On ties the first candidate
 * wins. Names over 64 bytes match nothing. Candidates are NULL-terminated. */
const char *spec_names_nearest(const char *name, const char *const *candidates);

/* Writes into buffer how a message about an unknown name ends: with "; did you mean 'token'?" if a
 * candidate is near, else with `otherwise`, which may be "". */
enum { SPEC_NAMES_MEANT_SIZE = 128 };
const char *spec_names_meant(char buffer[SPEC_NAMES_MEANT_SIZE], const char *name,
                             const char *const *candidates, const char *otherwise);

/* Returns GSL_EINVAL and a message like "no rule is named 'tokne'; did you mean 'token'?" if a name
 * is not among the candidates, where `what` is "rule". Both lists are NULL-terminated. */
int spec_names_check(const char *const *opt_names, const char *const *candidates, const char *what,
                     const char *otherwise, spec_error *error);

#endif
