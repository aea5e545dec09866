/* SPDX-License-Identifier: GPL-3.0-or-later */
/* child_environment: the environment variables that a sampler's process receives.
 * A child gets the same variables as speclab, so that the user's own configuration is tested.
 * Variables whose names look like secrets are withheld unless the user asks for them. */
#ifndef SPECLAB_CHILD_ENVIRONMENT_H
#define SPECLAB_CHILD_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether the name of a variable, given as NAME=VALUE or NAME, looks like that of a
 * secret. */
bool spec_child_environment_is_secret(const char *variable);

/* Returns the variables for a child, as an array for exec. `opt_more` (NULL-terminated) holds names
 * of secrets to pass, and NAME=VALUE, which replaces a variable; the last entry for a name counts.
 * The strings belong to environ and opt_more; the caller frees the array. NULL if out of memory. */
char **spec_child_environment(const char *const *opt_more);

/* Returns the number of variables that are withheld, and writes their names, separated by ", ": as
 * many as fit into `size` bytes. */
size_t spec_child_environment_withheld(char *ret_names, size_t size, const char *const *opt_more);

#endif
