/* mutants_run: what a known mistake does on a fixture, and how far its law is off.
 * The evidence is the caller's. Runs depend on the seed alone. */
#ifndef SPECLAB_MUTANTS_RUN_H
#define SPECLAB_MUTANTS_RUN_H

#include "conformance/evidence/evidence.h"
#include "conformance/mutants/mutants.h"

/* Add at least `draws` tokens of the mutant's to the evidence, in a scope in which it makes sense; fewer where a hard rule
 * is broken before. */
int spec_mutants_run(spec_evidence *evidence, const spec_mutant *mutant, const spec_fixture *fixture, uint32_t scope,
                     uint64_t draws, uint64_t seed, spec_error *error);

/* A lower bound of the total variation between the mutant's law and the promised one, and its standard error: where the
 * difference lies is learnt from the first half of the draws, and how large it is there from the second. */
typedef struct {
    double tv, se;
    const spec_fixture_kind *kind; /* the fixture where it is largest */
} spec_mutants_distance;

/* Over all fixtures of at most 512 tokens that fit the mutant; `draws` in each, ten times as many in the worst. */
int spec_mutants_worst(spec_mutants_distance *ret, const spec_mutant *mutant, uint64_t draws, uint64_t seed,
                       spec_error *error);

#endif
