/* SPDX-License-Identifier: GPL-3.0-or-later */
/* backend_gpu: the transformer backend for NVIDIA GPUs (models/transformer/engine/backend.h).
 * The first pass of each kind is recorded as a graph, and later passes replay it. The inputs that
 * change from pass to pass are in a pass_batch in GPU memory. docs/gpu.md explains the
 * arithmetic. */
#ifndef SPECLAB_BACKEND_GPU_H
#define SPECLAB_BACKEND_GPU_H

#include "models/transformer/engine/backend.h"

/* Opens a backend on GPU `ordinal`; the caller closes it with its _close. Fails like
 * spec_card_open. */
int spec_backend_gpu_open(const spec_backend **ret_backend, spec_context *context, int ordinal,
                          spec_error *error);

#endif
