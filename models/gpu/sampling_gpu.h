/* sampling_gpu: tokens drawn and verified where the logits are (models/transformer/engine/backend.h: law_bytes, draw, verify).
 * Rows, filters and decisions are those of the host, bit for bit up to what kernels_sampling.h says; what changes from
 * call to call lies in the card's memory, and the launches are recorded once for each number of rows and kind of
 * filters. One stream's, and so one thread's. */
#ifndef SPECLAB_SAMPLING_GPU_H
#define SPECLAB_SAMPLING_GPU_H

#include "models/gpu/card.h"
#include "models/transform.h"

typedef struct spec_sampling_gpu spec_sampling_gpu;

/* Of one law: the logits, and how the row is made of them. */
size_t spec_sampling_gpu_law_bytes(int vocab);

/* Of the card's memory that _init takes. */
size_t spec_sampling_gpu_bytes(int vocab);

/* For rows of `vocab` logits. The stream is borrowed; `records`: whether launches are recorded, or run one by one. */
int spec_sampling_gpu_init(spec_sampling_gpu **ret_sampling, spec_stream *stream, int vocab, bool records,
                           spec_error *error);
void spec_sampling_gpu_free(spec_sampling_gpu *sampling); /* NULL is fine */

/* As the backend's: they wait for the card. law: _law_bytes of the card's memory, written by _draw. logits: the card's,
 * (vocab) for _draw and (n+1, vocab) for _verify, n < SPEC_COLUMNS_MAX; uniform (n+2) in [0,1). GSL_EDOM where a logit
 * is not finite. */
int spec_sampling_gpu_draw(spec_sampling_gpu *sampling, int *ret_token, void *law, const float *logits,
                           const spec_transform *transform, double uniform, spec_error *error);
int spec_sampling_gpu_verify(spec_sampling_gpu *sampling, int *ret_n_accepted, int *ret_token, double *ret_chance,
                             int *ret_used, const float *logits, const spec_transform *transform, void *const *law,
                             const int *token, int n, const double *uniform, spec_error *error);

#endif
