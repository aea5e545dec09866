/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rotation: computes a rotary embedding's cosines and sines for the positions of a pass.
 * We compute angles, sines and cosines in double, so that they are exact to a float's rounding at
 * positions up to 2^20. Owns its arrays. */
#ifndef SPECLAB_ROTATION_H
#define SPECLAB_ROTATION_H

#include "models/transformer/engine/backend.h"

typedef struct {
    int half;             /* head_dim/2 */
    double *frequency;    /* (half) radians per position */
    double magnitude;     /* length of a rotated vector divided by its original length */
    float *cosine, *sine; /* (SPEC_COLUMNS_MAX, half), times the magnitude */
} spec_rotation;

int spec_rotation_init(spec_rotation *rotation, const spec_rope *rope, int head_dim,
                       spec_error *error);
void spec_rotation_free(spec_rotation *rotation); /* may be zeroed or half-built */

/* Fills cosines and sines for the columns of a batch. */
void spec_rotation_turn(spec_rotation *rotation, const spec_batch *batch);

#endif
