/* SPDX-License-Identifier: GPL-3.0-or-later */
/* break_even: for which batch sizes and contexts speculation raises tokens per second.
 * A step serves B decoding requests with contexts of s tokens; its time is affine. Pure functions,
 * NaN outside the domain: K >= 1, emitted = E[n_emitted] in [1, K+1].
 * docs/formulas/serving.md#break-even-batch. */
#ifndef SPECLAB_BREAK_EVEN_H
#define SPECLAB_BREAK_EVEN_H

#include "speclab/serving.h"

/* Returns the tokens per second of a full batch, divided by those of plain decoding.
 *
 *     emitted (step + B (token + kv s)) / (step + d + B (token (K+1) + draft_token K + kv s)),
 *     d = draft_round + draft_pass K                      docs/formulas/serving.md#break-even-batch
 *
 *   B >= 1, s >= 0. Checked by: spec_speedup, with costs that fit its model. */
double spec_break_even_speedup(const spec_affine_step *cost, int K, double emitted, double B,
                               double s);

/* Finds the batch sizes for which this speed-up exceeds 1: from < B < to.
 *
 *     B* = (step (E-1) - d) / (token (K+1-E) + draft_token K - kv s (E-1)),   E = emitted
 *
 * Usually speculation gains below B*. It may also gain at every batch, (0, inf), or at none,
 * (0, 0), or only above B*, (B*, inf). The last happens if the fixed cost of a draft exceeds a
 * step's gain and contexts are longer than s* (below). */
void spec_break_even_batch(double *ret_from, double *ret_to, const spec_affine_step *cost, int K,
                           double emitted, double s);

/* Returns the context length above which speculation raises tokens per second at every large batch.
 *
 *     s* = (token (K+1-E) + draft_token K) / (kv (E-1) - draft_kv K)
 *
 *   draft_kv   time per pass to read a token of the draft's own KV cache, s, >= 0; 0: it has no
 *              cache
 *   returns tokens; inf if no context is long enough */
double spec_break_even_context(const spec_affine_step *cost, int K, double emitted,
                               double draft_kv);

#endif
