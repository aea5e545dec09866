/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/engine/uniforms.h"

#include "sim/chance/rng.h"

#include <string.h>

void spec_uniforms_init(spec_uniforms *uniforms, uint64_t seed, const char *name, uint64_t stream)
{
    memset(uniforms, 0, sizeof *uniforms);
    spec_lanes_init(&uniforms->lanes, spec_rng_named_seed(seed, name), stream);
    uniforms->next = SPEC_UNIFORMS;
}

int spec_uniforms_refill(spec_uniforms *uniforms)
{
    if (uniforms->next == SPEC_UNIFORMS) {
        spec_lanes_fill(&uniforms->lanes, uniforms->word, SPEC_UNIFORMS / SPEC_LANES);
        uniforms->next = 0;
    }
    return SPEC_UNIFORMS - uniforms->next;
}
