/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/evidence/draft_paths.h"

_Static_assert(SPEC_FIXTURE_NODES_MAX < 64, "the root and all nodes have a bit each");

spec_places spec_draft_paths_children(const spec_fixture *fixture, const int32_t *token,
                                      int n_nodes, spec_places from)
{
    spec_places children = 0;
    for (int i = 0; i < n_nodes; i++)
        if (token[i] >= 0 && (from >> (fixture->parent[i] + 1) & 1))
            children |= SPEC_PLACES_ROOT << (i + 1);
    return children;
}

spec_places spec_draft_paths_next(const spec_fixture *fixture, const int32_t *token, int n_nodes,
                                  spec_places from, int32_t emitted)
{
    spec_places next = spec_draft_paths_children(fixture, token, n_nodes, from);
    for (int i = 0; i < n_nodes; i++)
        if (token[i] != emitted) next &= ~(SPEC_PLACES_ROOT << (i + 1));
    return next;
}
