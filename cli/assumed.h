/* SPDX-License-Identifier: GPL-3.0-or-later */
/* assumed: the line that says which values a verb assumes, and which option sets each of them.
 * "speclab serve: assumed: --prompt 512, --draft-cost none (drafting takes no time)". Values that
 * the user gave are left out. */
#ifndef SPECLAB_ASSUMED_H
#define SPECLAB_ASSUMED_H

#include "experiments/measures/measure.h"

typedef struct {
    char text[1024]; /* "" : nothing is assumed */
} spec_assumed;

/* Adds an assumption: what the user would type before the value ("--place "), the value, and its
 * meaning. */
void spec_assumed_add(spec_assumed *assumed, const char *typed, const char *value,
                      const char *opt_meaning);

/* Adds it only if `opt_value` is the same pointer as the default; the user has then given no
 * value. */
void spec_assumed_add_default(spec_assumed *assumed, const char *typed, const char *opt_value,
                              const char *by_default);

/* Adds what a measure assumes about a grid (spec_measure.assumes). `typed_for` writes what the user
 * would type before the value of a parameter. */
void spec_assumed_add_measure(spec_assumed *assumed, const spec_measure *measure,
                              const spec_grid *grid,
                              const char *(*typed_for)(char typed[64], const void *self,
                                                       const char *parameter),
                              const void *self);

/* Prints the line on standard error, if anything is assumed. */
void spec_assumed_say(const spec_assumed *assumed, const char *verb);

#endif
