/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mutants_run: measures how far the law of a mutant is from the promised one.
 * Runs depend on the seed alone. */
#ifndef SPECLAB_MUTANTS_RUN_H
#define SPECLAB_MUTANTS_RUN_H

#include "conformance/mutants/mutants.h"

/* A lower bound of the total variation between the mutant's law and the promised one, and its
 * standard error. The first half of the draws locates the difference, the second half measures it.
 */
typedef struct {
    double tv, se;
    const spec_fixture_kind *kind; /* fixture with the largest TV */
} spec_mutants_distance;

/* Runs ten times `draws` tokens on that fixture; without one, `draws` on all fixtures written by
 * hand of at most 512 tokens that suit the mutant, and ten times as many on the worst. GSL_EFAILED,
 * "interrupted", where *opt_stop is set. */
int spec_mutants_worst(spec_mutants_distance *ret, const spec_mutant *mutant,
                       const spec_fixture_kind *opt_kind, uint64_t draws, uint64_t seed,
                       const volatile int *opt_stop, spec_error *error);

#endif
