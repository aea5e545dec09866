/* SPDX-License-Identifier: GPL-3.0-or-later */
/* uniforms: uniform numbers from lanes (sim/chance/lanes.h), in a buffer that vector loops read. */
#ifndef SPECLAB_UNIFORMS_H
#define SPECLAB_UNIFORMS_H

#include "sim/chance/lanes.h"

enum {
    SPEC_UNIFORMS = 64 * SPEC_LANES,
    SPEC_UNIFORMS_PAD = 16, /* words that vector loops may read past the last one */
};

typedef struct {
    spec_lanes lanes;
    int next; /* word[next] is the next number; SPEC_UNIFORMS: none is left */
    uint32_t word[SPEC_UNIFORMS + SPEC_UNIFORMS_PAD];
} spec_uniforms;

/* Starts the numbers of stream `stream` that are reserved for the purpose `name`. */
void spec_uniforms_init(spec_uniforms *uniforms, uint64_t seed, const char *name, uint64_t stream);

/* Makes new words if none is left. Returns how many there are, >= 1. */
int spec_uniforms_refill(spec_uniforms *uniforms);

/* Converts a word to a number in [0, 1), a multiple of 2^-24. */
static inline float spec_uniforms_of(uint32_t word)
{
    return (float)(int32_t)(word >> 8) * 0x1p-24f;
}

static inline float spec_uniforms_next(spec_uniforms *uniforms)
{
    if (uniforms->next == SPEC_UNIFORMS) spec_uniforms_refill(uniforms);
    return spec_uniforms_of(uniforms->word[uniforms->next++]);
}

#endif
