/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/rotation.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

int spec_rotation_init(spec_rotation *rotation, const spec_rope *rope, int head_dim,
                       spec_error *error)
{
    const size_t half = (size_t)head_dim / 2;
    *rotation = (spec_rotation){.half = head_dim / 2};
    rotation->frequency = malloc(half * sizeof *rotation->frequency);
    rotation->cosine = malloc(2 * SPEC_COLUMNS_MAX * half * sizeof *rotation->cosine);
    if (rotation->frequency == NULL || rotation->cosine == NULL) return spec_no_memory(error);
    rotation->sine = rotation->cosine + SPEC_COLUMNS_MAX * half;
    rotation->magnitude = rope->magnitude != 0.0f ? (double)rope->magnitude : 1.0;
    for (size_t i = 0; i < half; i++) {
        rotation->frequency[i] = pow(rope->base, -2.0 * (double)i / head_dim);
        if (rope->opt_factor != NULL) rotation->frequency[i] /= (double)rope->opt_factor[i];
    }
    return GSL_SUCCESS;
}

void spec_rotation_free(spec_rotation *rotation)
{
    free(rotation->frequency);
    free(rotation->cosine);
    *rotation = (spec_rotation){0};
}

void spec_rotation_turn(spec_rotation *rotation, const spec_batch *batch)
{
    float *cosine = rotation->cosine, *sine = rotation->sine;
    for (int u = 0; u < batch->n; u++, cosine += rotation->half, sine += rotation->half)
        for (int i = 0; i < rotation->half; i++) {
            const double angle = batch->position[u] * rotation->frequency[i];
            cosine[i] = (float)(cos(angle) * rotation->magnitude);
            sine[i] = (float)(sin(angle) * rotation->magnitude);
        }
}
