/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draft_cache: the work that the draft of a serving engine does to fill its own KV cache.
 * See spec_draft_cache in serving_plan.h. Headers only. */
#ifndef SPECLAB_DRAFT_CACHE_H
#define SPECLAB_DRAFT_CACHE_H

#include "sim/serving/engine/engine.h"

/* Returns how many tokens a round at this context adds to the draft's work, not counting the
 * drafted tokens. */
static inline int64_t spec_draft_cache_tokens(const spec_engine *e, const spec_member *m,
                                              int64_t context, int drafted)
{
    switch (e->cache) {
    case SPEC_CACHE_FREE: break;
    case SPEC_CACHE_FED: return drafted == 0;
    case SPEC_CACHE_REFILLED:
    case SPEC_CACHE_DROPPED: return drafted == 0 ? 0 : context - (m->drop == e->drop ? m->seen : 0);
    }
    return 0;
}

/* Records that the round has led to this context. */
static inline void spec_draft_cache_advance(const spec_engine *e, spec_member *m, int64_t context,
                                            int drafted)
{
    if (drafted == 0) return;
    m->seen = (int32_t)context;
    m->drop = e->drop;
}

#endif
