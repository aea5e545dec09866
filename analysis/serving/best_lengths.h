/* SPDX-License-Identifier: GPL-3.0-or-later */
/* best_lengths: the draft length of each request of a step that emits the most tokens per second.
 * The step is affine in its work, and acceptance is iid within each request (A1). Pure functions.
 * [Dinkelbach67]; docs/formulas.md#best-lengths. */
#ifndef SPECLAB_BEST_LENGTHS_H
#define SPECLAB_BEST_LENGTHS_H

#include "speclab/serving.h"

/* Tokens per second of a step.
 *
 *     sum_r E[n_emitted(alpha_r, K_r)] / time(work)
 *
 *   K      (n) draft lengths, >= 0
 *   alpha  (n) acceptance rates, in [0,1]
 *   n      decoding requests, >= 1
 *   cost   of the step; fixed: its other work (prompts, and KV tokens of all)
 *   returns tokens/s; NaN outside the domain */
double spec_best_lengths_rate(const int *K, const double *alpha, int n,
                              const spec_affine_step *cost, const spec_step_work *fixed);

/* Lengths of at most K_max tokens that maximise it.
 *
 * Under a cap on the lengths and a rate G, drafting token j of request r gains iff
 *
 *     alpha_r^j > (token + draft_token) G                        docs/formulas.md#best-lengths
 *
 * The rate of these lengths is the next G, until it rises no more [Dinkelbach67]. The best cap
 * wins: draft_pass makes the longest draft costly.
 *
 *   ret_K    (n) of equal rates, those of the smallest cap; zeroed outside the domain
 *   K_max    >= 0
 *   returns  the rate, tokens/s; NaN outside the domain
 * O(n K_max^2) for each of a few G. Checked by: all lengths of small batches. */
double spec_best_lengths(int *ret_K, const double *alpha, int n, int K_max,
                         const spec_affine_step *cost, const spec_step_work *fixed);

#endif
