/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dflash_layers: runs the layers of dflash over the columns of a pass, on the CPU.
 * Called between a backend's begin and end; the backend must complete each operation before it
 * returns. Steps for which the backend has no operation are loops over columns, which give the same
 * bits on every instruction set. */
#ifndef SPECLAB_DFLASH_LAYERS_H
#define SPECLAB_DFLASH_LAYERS_H

#include "models/dflash/dflash_state.h"

/* Writes the keys and values of `input` (n, dim) into the columns' slots. */
void spec_dflash_layers_store(spec_dflash_state *state, int layer, const float *input);

/* Runs a layer over a block: adds to forward.x, and leaves keys and values in the block's slots. */
void spec_dflash_layers_run(spec_dflash_state *state, int layer);

/* x_i *= factor. */
void spec_dflash_layers_scale(float *x, size_t n, float factor);

#endif
