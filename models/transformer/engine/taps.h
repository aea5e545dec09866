/* SPDX-License-Identifier: GPL-3.0-or-later */
/* taps: keeps hidden states in the CPU's memory, in the same slots as keys and values.
 * Draft heads read their target's states and keep their own. The KV cache owns the planes. */
#ifndef SPECLAB_TAPS_H
#define SPECLAB_TAPS_H

#include "models/transformer/engine/backend.h"

/* Returns the plane with the hidden states after this many layers, or -1. */
int spec_taps_find(const spec_kv *kv, int layers);

/* See the backend's operations of the same names; _init replaces existing planes. Their memory
 * grows with the text. */
int spec_taps_init(const spec_backend *backend, spec_kv *kv, const int *tap, int n, int width,
                   spec_error *error);
void spec_taps_free(const spec_backend *backend, spec_kv *kv);
void spec_taps_put(spec_kv *kv, int plane, const float *x, const spec_batch *batch);
void spec_taps_keep(spec_kv *kv, const int *from, int to, int n);

#endif
