/* SPDX-License-Identifier: GPL-3.0-or-later */
/* context_acceptance: acceptance by the length of a request's context, from counts by request.
 * Requests whose prompt is known are summed by octaves of their mean context, prompt + output/2.
 * docs/advise.md#context. */
#ifndef SPECLAB_CONTEXT_ACCEPTANCE_H
#define SPECLAB_CONTEXT_ACCEPTANCE_H

#include "base/context_steps.h"
#include "tools/advise/observation.h"

/* Octave 0: below 1,024 tokens; octave b: from 2^(9+b) tokens on. */
enum { SPEC_CONTEXT_OCTAVES = 16 };

/* Sums over the requests of an octave. */
typedef struct {
    double requests, rounds, drafted, accepted;
    double rounds2, both, accepted2; /* of rounds^2, rounds accepted, accepted^2 */
} spec_context_sums;

/* Adds a request to the sums of its octave. Leaves out observations without the prompt or the
 * counts. */
void spec_context_sums_add(spec_context_sums sums[SPEC_CONTEXT_OCTAVES], const spec_observation *o);

/* Estimates alpha by context: the alpha of iid acceptance with the same mean number of accepted
 * tokens. Joins octaves until they have 10 requests and 500 rounds, and neighbours that differ by
 * less than 3 standard errors. ret->n is 0 if fewer than two ranges remain, because then nothing
 * shows that alpha depends on the context. */
void spec_context_acceptance(spec_context_steps *ret,
                             const spec_context_sums sums[SPEC_CONTEXT_OCTAVES]);

#endif
