/* SPDX-License-Identifier: GPL-3.0-or-later */
/* logits: turns logits into their argmax, or a distribution at a temperature, on the CPU.
 * Rows are double and normalised. Sums run in blocks of SPEC_VECTOR_EXPS, so they do not depend on
 * the number of threads. */
#ifndef SPECLAB_LOGITS_H
#define SPECLAB_LOGITS_H

#include "models/transformer/kernels/vector.h"

/* The backend's `argmax` and `rows`, for logits (n, vocab). _rows runs on the thread pool that the
 * caller has locked, if any. */
int spec_logits_argmax(int *ret_token, const float *logits, int n, int vocab,
                       const spec_vector_kernels *kernels, spec_error *error);
int spec_logits_rows(double *const *row, const float *logits, double temperature, int n, int vocab,
                     const spec_vector_kernels *kernels, spec_thread_pool *opt_locked,
                     spec_error *error);

#endif
