/* filters: which tokens of a row top_k, top_p and min_p keep.
 * A filter keeps what stands at or before one place in the order of probability, ties by the lowest id. That place is
 * looked for among the few tokens that can be it, found by a pass over the row; the result is that of a whole sort, bit
 * for bit. */
#ifndef SPECLAB_FILTERS_H
#define SPECLAB_FILTERS_H

#include "models/transform.h"

/* Apply top_k, top_p and min_p of `transform` to `row` (V, normalised) in place, and renormalise the survivors if
 * anything went. `order` (V) is workspace. */
void spec_filters_apply(double *row, int vocab, const spec_transform *transform, int *order);

#endif
