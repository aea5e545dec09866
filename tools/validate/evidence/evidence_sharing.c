/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detects whether rounds share random numbers, whatever the law of their tokens. */
#include "tools/validate/evidence/evidence_counts.h"

#include <math.h>
#include <stdlib.h>

/* Returns the probability that two independent first tokens are near, from the observed PITs. A
 * wrong law makes PITs uneven, so all pairs come closer together, but pairs of neighbouring rounds
 * no more than others. */
static double near_by_chance(const uint64_t *pit, bool mirrored)
{
    enum { WIDE = SPEC_PIT_CELLS / 8 };
    double near = 0.0, n = 0.0;
    for (int a = 0; a < SPEC_PIT_CELLS; a++) {
        n += (double)pit[a];
        for (int b = 0; b < SPEC_PIT_CELLS; b++) {
            const int apart = abs(a - (mirrored ? SPEC_PIT_CELLS - 1 - b : b));
            const int circular = apart < SPEC_PIT_CELLS - apart ? apart : SPEC_PIT_CELLS - apart;
            const double share = circular < WIDE ? 1.0 : circular == WIDE ? 0.5 : 0.0;
            near += share * (double)pit[a] * (double)pit[b];
        }
    }
    return n > 0.0 ? near / (n * n) : 0.0;
}

static bool is_shared(const spec_evidence *e, double deviations, int kind)
{
    const double n = (double)(e->near[kind][0] + e->near[kind][1]);
    const double by_chance = near_by_chance(e->pit[SPEC_PIT_FIRST], kind == SPEC_NEAR_MIRROR);
    const double seen = (double)e->near[kind][1];
    return n > 0.0 && seen > n * by_chance + deviations * sqrt(n * by_chance * (1.0 - by_chance));
}

spec_sharing spec_evidence_sharing(const spec_evidence *e, double deviations)
{
    const bool coins = is_shared(e, deviations, SPEC_NEAR_COINS),
               seeds = is_shared(e, deviations, SPEC_NEAR_SEEDS),
               mirror = is_shared(e, deviations, SPEC_NEAR_MIRROR);
    return coins && seeds ? SPEC_SHARED_BY_CALL
           : coins        ? SPEC_SHARED_BY_SEED
           : seeds        ? SPEC_SHARED_BY_SEEDS
           : mirror       ? SPEC_SHARED_MIRRORED
                          : SPEC_SHARED_NOTHING;
}
