/* nearest: the known mistakes whose laws are near to what was seen of a sampler that failed. A hint, never a finding:
 * other mistakes may have the same law. docs/conformance.md#hints. */
#ifndef SPECLAB_NEAREST_H
#define SPECLAB_NEAREST_H

#include "conformance/validate.h"

/* Runs every mistake that makes sense in the scope on the fixture, and compares what it emits with what was seen: by
 * the likelihood of the tokens after every state, and of what the tests count. Near is what leaves unexplained at most
 * a tenth of the difference from the promised law, chance apart; where a hard rule was broken, what breaks the same one.
 * ret_hint: at most three, the nearest first; none where none is near, where the difference does not show in these
 * counts, or where the vocabulary is larger than 1024. */
int spec_nearest(spec_hint ret_hint[3], int *ret_n, const spec_evidence *seen, const spec_fixture *fixture,
                 uint32_t scope, uint64_t seed, spec_error *error);

#endif
