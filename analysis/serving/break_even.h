/* SPDX-License-Identifier: GPL-3.0-or-later */
/* break_even: the batches and the contexts at which speculation raises tokens per second.
 * A step serves B decoding requests with contexts of s tokens; it takes an affine time, or that of
 * a roofline. Pure functions, NaN outside the domain: K >= 1, emitted = E[n_emitted] in [1, K+1].
 * docs/formulas.md#break-even-batch. */
#ifndef SPECLAB_BREAK_EVEN_H
#define SPECLAB_BREAK_EVEN_H

#include "analysis/roofline.h"
#include "speclab/serving.h"

/* Tokens per second of a full batch, over those of plain decoding.
 *
 *     emitted (step + B (token + kv s)) / (step + d + B (token (K+1) + draft_token K + kv s)),
 *     d = draft_round + draft_pass K                           docs/formulas.md#break-even-batch
 *
 *   B >= 1, s >= 0. Checked by: spec_speedup for costs of its model. */
double spec_break_even_speedup(const spec_affine_step *cost, int K, double emitted, double B,
                               double s);

/* The batches at which that exceeds 1: from < B < to.
 *
 *     B* = (step (E-1) - d) / (token (K+1-E) + draft_token K - kv s (E-1)),   E = emitted
 *
 * It gains below B*, the usual case; at every batch (0, inf); at none (0, 0); or above B*, where
 * the fixed cost of a draft exceeds a step's gain and contexts exceed s* (below): (B*, inf). */
void spec_break_even_batch(double *ret_from, double *ret_to, const spec_affine_step *cost, int K,
                           double emitted, double s);

/* The context above which speculation raises tokens per second at every large batch.
 *
 *     s* = (token (K+1-E) + draft_token K) / (kv (E-1) - draft_kv K)
 *
 *   draft_kv   time to read a token of the draft's own KV cache, per pass, s, >= 0; 0: none
 *   returns tokens; inf if no context is long enough */
double spec_break_even_context(const spec_affine_step *cost, int K, double emitted,
                               double draft_kv);

/* Time of a pass of n tokens over caches of kv_tokens in total: compute and weights overlap, and
 * the reads of caches add to it.
 *
 *     max(2 parameters n / flops, parameters bytes_per_weight / bandwidth)
 *          + kv_bytes kv_tokens / bandwidth
 *
 * A batch's attention has too few operations per byte to overlap. spec_roofline_pass_time, of one
 * text, overlaps them. n > 0, kv_tokens >= 0. */
double spec_break_even_pass(const spec_hardware *hardware, const spec_transformer_shape *shape,
                            double n, double kv_tokens);

/* A batch on a machine; a machine with less than its peak has smaller flops. */
typedef struct {
    const spec_hardware *hardware;
    const spec_transformer_shape *target, *draft;
    double B, s;    /* requests >= 1; tokens of context >= 0 */
    double s_draft; /* tokens in the draft's cache, >= 0: s, or fewer with a window */
} spec_break_even_machine;

/* Tokens per second over those of plain decoding: emitted plain / (verify + K draft). */
double spec_break_even_roofline(const spec_break_even_machine *machine, int K, double emitted);

#endif
