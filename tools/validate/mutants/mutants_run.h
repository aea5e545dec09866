/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mutants_run: measures how far the law of a mutant is from the promised one.
 * Results depend only on the seed. */
#ifndef SPECLAB_MUTANTS_RUN_H
#define SPECLAB_MUTANTS_RUN_H

#include "tools/validate/mutants/mutants.h"

/* A lower bound on the total variation between the mutant's law and the promised one, and its
 * standard error. The first half of the draws locates the difference, the second half measures
 * it. */
typedef struct {
    double tv, se;
    const spec_fixture_kind *kind; /* fixture with the largest TV */
} spec_mutants_distance;

/* Runs ten times `draws` tokens on opt_kind. Without one, runs `draws` on all suitable handwritten
 * fixtures of at most 512 tokens, and ten times as many on the worst. Returns GSL_EFAILED,
 * "interrupted", if *opt_stop is set. */
int spec_mutants_worst(spec_mutants_distance *ret, const spec_mutant *mutant,
                       const spec_fixture_kind *opt_kind, uint64_t draws, uint64_t seed,
                       const volatile int *opt_stop, spec_error *error);

#endif
