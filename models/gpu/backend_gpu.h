/* backend_gpu: the operations of a pass on an NVIDIA card (models/transformer/engine/backend.h).
 * The first pass of a kind is recorded and the following ones run the recording; what changes between them lies in a
 * pass_batch in the card's memory. docs/gpu.md has the arithmetic. */
#ifndef SPECLAB_BACKEND_GPU_H
#define SPECLAB_BACKEND_GPU_H

#include "models/transformer/engine/backend.h"

/* A backend for card `ordinal`; closed by its own _close. Fails as spec_card_open does. */
int spec_backend_gpu_open(const spec_backend **ret_backend, int ordinal, spec_error *error);

#endif
