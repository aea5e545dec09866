/* names: find a name in a table, and the nearest one where it is not there.
 * A table shows its names through a function of the line's number; a bare list of names is NULL-terminated. Nothing is
 * owned: what is returned is the table's own text. */
#ifndef SPECLAB_NAMES_H
#define SPECLAB_NAMES_H

#include "speclab/status.h"

/* The name of line i = 0, 1, ... of a table; NULL after the last. */
typedef const char *spec_name_of(int i);

/* The line called `name`, or -1 and a line such as "no rule is named 'tokne'; did you mean 'token'?", `what` being
 * "rule"; where none is near it says that speclab list shows them. */
int spec_names_find(spec_name_of *name_of, const char *name, const char *what, spec_error *error);

/* The candidate nearest to `name` by edit distance (transpositions count one, the case nothing), or NULL if none is
 * near enough to be meant: at most a third of the longer length, at least 1, but never all of it. The first among
 * equals; names of more than 64 bytes are near to nothing. Candidates are NULL-terminated. */
const char *spec_names_nearest(const char *name, const char *const *candidates);

/* How a line about a name that is not there ends: "; did you mean 'token'?" where a candidate is near, else `otherwise`
 * (may be ""). Written into buffer. */
enum { SPEC_NAMES_MEANT_SIZE = 128 };
const char *spec_names_meant(char buffer[SPEC_NAMES_MEANT_SIZE], const char *name, const char *const *candidates,
                             const char *otherwise);

#endif
