/* SPDX-License-Identifier: GPL-3.0-or-later */
/* assumed: the line of a verb that says what it assumes, and with which option to give it.
 * "speclab serve: assumed: --prompt 512, --draft-cost none (drafting takes no time)". Values that
 * the user gave are not in it. */
#ifndef SPECLAB_ASSUMED_H
#define SPECLAB_ASSUMED_H

#include "experiments/measures/measure.h"

#include <argp.h>

typedef struct {
    char text[1024]; /* "" : nothing is assumed */
} spec_assumed;

/* Add what the user types before a value ("--place "), the value, and what that means. */
void spec_assumed_add(spec_assumed *assumed, const char *typed, const char *value,
                      const char *opt_meaning);

/* The same, if the value is the default itself and not the user's text. */
void spec_assumed_add_default(spec_assumed *assumed, const char *typed, const char *opt_value,
                              const char *by_default);

/* Add those of the named options (NULL-terminated) that the user did not give, with the defaults
 * that end their help in parentheses: each a value. */
void spec_assumed_add_options(spec_assumed *assumed, const struct argp_option *options,
                              const char *const *names);

/* Add what a measure assumes of a grid (spec_measure.assumes). `typed_for` writes what
 * the user types before the value of a parameter. */
void spec_assumed_add_measure(spec_assumed *assumed, const spec_measure *measure,
                              const spec_grid *grid,
                              const char *(*typed_for)(char typed[64], const void *self,
                                                       const char *parameter),
                              const void *self);

/* Print the line on standard error, if anything is assumed. */
void spec_assumed_say(const spec_assumed *assumed, const char *verb);

#endif
