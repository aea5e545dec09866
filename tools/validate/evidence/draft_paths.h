/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draft_paths: the nodes that an emitted text may have reached in a draft tree.
 * Siblings drawn iid may hold the same token, so one text may follow several paths. A spec_places
 * is a bit set: bit 0 is the root, bit i+1 is node i. */
#ifndef SPECLAB_DRAFT_PATHS_H
#define SPECLAB_DRAFT_PATHS_H

#include "tools/validate/fixtures/fixture.h"

typedef uint64_t spec_places;

#define SPEC_PLACES_ROOT ((spec_places)1)

/* Returns the children of `from` among nodes 0..n_nodes-1, without padding (token -1). */
spec_places spec_draft_paths_children(const spec_fixture *fixture, const int32_t *token,
                                      int n_nodes, spec_places from);

/* Returns the children that hold `emitted`; 0 if the text has left the draft. */
spec_places spec_draft_paths_next(const spec_fixture *fixture, const int32_t *token, int n_nodes,
                                  spec_places from, int32_t emitted);

#endif
