/* SPDX-License-Identifier: GPL-3.0-or-later */
/* names: lookup of a name in a table, with the nearest name as a suggestion.
 * A table gives its names through a function of the line number; a bare list of names is
 * NULL-terminated. The returned text belongs to the table. */
#ifndef SPECLAB_NAMES_H
#define SPECLAB_NAMES_H

#include "speclab/status.h"

/* The name of line i = 0, 1, ... of a table; NULL after the last. */
typedef const char *spec_name_of(int i);

/* The index of the line called `name`. Otherwise -1 and a message such as "no rule is named
 * 'tokne'; did you mean 'token'?", where `what` is "rule". If no name is near, the message lists
 * all names, or the command that lists them. */
int spec_names_find(spec_name_of *name_of, const char *name, const char *what, spec_error *error);

/* The candidate nearest to `name` by edit distance, ignoring case, or NULL if none is near enough.
 * A transposition counts one. Near enough is at most a third of the longer length, rounded, at
 * least 1, and less than the whole name; or `name` has four letters and the candidate begins with
 * it. Ties give the first candidate; names over 64 bytes have no near candidate. Candidates are
 * NULL-terminated. */
const char *spec_names_nearest(const char *name, const char *const *candidates);

/* The end of a message about an unknown name: "; did you mean 'token'?" if a candidate is near,
 * else `otherwise` (may be ""). Written into buffer. */
enum { SPEC_NAMES_MEANT_SIZE = 128 };
const char *spec_names_meant(char buffer[SPEC_NAMES_MEANT_SIZE], const char *name,
                             const char *const *candidates, const char *otherwise);

/* GSL_EINVAL and a line "no rule is named 'tokne'; did you mean 'token'?" if a name is not among
 * the candidates, where `what` is "rule". Both lists are NULL-terminated. */
int spec_names_check(const char *const *opt_names, const char *const *candidates, const char *what,
                     const char *otherwise, spec_error *error);

#endif
