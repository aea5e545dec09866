/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sampling_gpu: draws and verifies tokens on the GPU (backend.h: law_bytes, draw, verify).
 * Rows, filters and decisions equal the host's bit for bit, except as kernels_sampling.h says.
 * Inputs that change from call to call are in GPU memory. Launches are recorded once for each
 * number of rows and kind of filters. It belongs to one stream, and so to one thread. */
#ifndef SPECLAB_SAMPLING_GPU_H
#define SPECLAB_SAMPLING_GPU_H

#include "models/chain_request.h"
#include "models/gpu/card.h"

typedef struct spec_sampling_gpu spec_sampling_gpu;

/* Returns the bytes of one law: the logits and the numbers that turn them into the row. */
size_t spec_sampling_gpu_law_bytes(int vocab);

/* Returns the bytes of GPU memory that _init allocates. */
size_t spec_sampling_gpu_bytes(int vocab);

/* Prepares sampling from rows of `vocab` logits. Borrows the stream. With `records`, launches are
 * recorded instead of run one by one. opt_next: the stream's pass_batch, in GPU memory; NULL allows
 * only requests for one token. */
int spec_sampling_gpu_init(spec_sampling_gpu **ret_sampling, spec_stream *stream, int vocab,
                           void *opt_next, bool records, spec_error *error);
void spec_sampling_gpu_free(spec_sampling_gpu *sampling); /* accepts NULL */

/* Work as the backend's functions of the same names; _drawn and _verify wait for the GPU. A law is
 * _law_bytes of GPU memory. logits: GPU memory, (n+1, vocab) for _verify, n < SPEC_COLUMNS_MAX.
 * _verify returns GSL_EDOM if a logit is not finite. */
void spec_sampling_gpu_draw(spec_sampling_gpu *sampling, const spec_draw_request *request, int i);
int spec_sampling_gpu_drawn(spec_sampling_gpu *sampling, int *ret_token, int n, spec_error *error);
int spec_sampling_gpu_verify(spec_sampling_gpu *sampling, spec_chain_outcome *outcome,
                             const float *logits, const spec_chain_request *request,
                             spec_error *error);

#endif
