/* SPDX-License-Identifier: GPL-3.0-or-later */
/* split: counts of a sampler's tokens by source, to compare two samplers on one fixture.
 * Sources are accepted draft, correction and bonus tokens, and in scope DV the draft; in scope S,
 * where sources are not visible, the previous token. The comparison does not use the promised
 * law. */
#ifndef SPECLAB_SPLIT_H
#define SPECLAB_SPLIT_H

#include "tools/validate/evidence/evidence.h"

typedef struct spec_split spec_split;

/* Runs the sampler for about `draws` tokens; the run goes on even if hard rules are broken. The
 * fixture must outlive the split. Fails as spec_subject_run does. */
int spec_split_ask(spec_split **ret, spec_subject *subject, const spec_fixture *fixture,
                   uint32_t scope, uint64_t draws, uint64_t seed, spec_error *error);
void spec_split_free(spec_split *split);

/* A likelihood ratio statistic: 2 log of the likelihood that is lost if we give both splits the
 * same law. If they really have the same law, it is chi-square with df degrees of freedom. */
typedef struct {
    double lost, df;
} spec_split_distance;

/* The parts of a comparison: tokens; dependence between requests or between tokens of a text;
 * broken hard rules. */
enum { SPEC_SPLIT_TOKENS, SPEC_SPLIT_DEPENDENCE, SPEC_SPLIT_RULES, SPEC_SPLIT_PARTS };

void spec_split_compare(spec_split_distance ret[SPEC_SPLIT_PARTS], const spec_split *a,
                        const spec_split *b);

/* Returns how much two halves of the tokens differ, relative to the mean for independent requests:
 * above 1 if requests share random numbers. At least 1; NaN if out of memory. */
double spec_split_dispersion(const spec_split *split, spec_error *error);

#endif
