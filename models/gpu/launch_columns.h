/* SPDX-License-Identifier: GPL-3.0-or-later */
/* launch_columns: launches the kernels of norm, argmax and uploads.
 * y is an operand of a format (pass_batch.h). */
#ifndef SPECLAB_LAUNCH_COLUMNS_H
#define SPECLAB_LAUNCH_COLUMNS_H

#include "models/gpu/launch.h"

/* y = x / sqrt(mean(x^2) + eps) * gain. x has all columns of the pass, y those of the launch; y may
 * be x if its format is FLOATS and all columns are wanted. The mean is computed in floats; a column
 * whose squares overflow is NaN. */
void spec_launch_norm(spec_launch launch, void *y, const float *x, const float *gain, int dim,
                      float eps, operand_format format);

/* Returns the bytes of GPU memory that _argmax needs for n rows. */
size_t spec_launch_logits_bytes(int vocab, int n);

/* Writes to ret_token[u] the index of the largest logit (n, vocab), the lowest among ties; -1 if a
 * logit is not finite. */
void spec_launch_argmax(spec_stream *stream, int *ret_token, const float *logits, int vocab, int n,
                        void *workspace);

/* Uploads bytes, a multiple of four, as arguments of kernels, WRITE_WORDS at a time. `from` may be
 * reused at once. */
void spec_launch_write(spec_stream *stream, void *to, const void *from, size_t bytes);

#endif
