/* SPDX-License-Identifier: GPL-3.0-or-later */
/* child_environment: the environment variables that a sampler's process receives.
 * An allow-list of names keeps the rest of the user's environment, such as keys and tokens, private
 * to speclab. */
#ifndef SPECLAB_CHILD_ENVIRONMENT_H
#define SPECLAB_CHILD_ENVIRONMENT_H

/* The variables of this process that are on the list (docs/conformance.md) or named in `opt_more`
 * (NULL-terminated), as an array for exec. Its strings belong to environ; the caller frees the
 * array. NULL: out of memory. */
char **spec_child_environment(const char *const *opt_more);

#endif
