/* SPDX-License-Identifier: GPL-3.0-or-later */
/* best_lengths: the draft lengths with which a step emits the most tokens per second.
 * The step's time is affine in its work, and acceptance is iid within each request (A1). Pure
 * functions. [Dinkelbach67]; docs/formulas/serving.md#best-lengths. */
#ifndef SPECLAB_BEST_LENGTHS_H
#define SPECLAB_BEST_LENGTHS_H

#include "speclab/serving.h"

/* Returns the tokens per second of a step.
 *
 *     sum_r E[n_emitted(alpha_r, K_r)] / time(work)
 *
 *   K      (n) draft lengths, >= 0
 *   alpha  (n) acceptance rates, in [0,1]
 *   n      decoding requests, >= 1
 *   cost   cost of the step; fixed: its other work (prompts, and the KV tokens of all requests)
 *   returns tokens/s; NaN outside the domain */
double spec_best_lengths_rate(const int *K, const double *alpha, int n,
                              const spec_affine_step *cost, const spec_step_work *fixed);

/* Finds the lengths, at most K_max tokens each, that maximise this rate.
 *
 * With a cap on the lengths and a given rate G, drafting token j of request r pays off iff
 *
 *     alpha_r^j > (token + draft_token) G                     docs/formulas/serving.md#best-lengths
 *
 * The rate of these lengths becomes the next G, until it stops rising [Dinkelbach67]. We try every
 * cap and keep the best, because draft_pass makes the longest draft of the batch costly.
 *
 *   ret_K    (n) if several caps tie, the lengths of the smallest; zeroed outside the domain
 *   K_max    >= 0
 *   returns  the rate, tokens/s; NaN outside the domain
 * O(n K_max^2) for each of a few G. Checked by: all lengths of small batches. */
double spec_best_lengths(int *ret_K, const double *alpha, int n, int K_max,
                         const spec_affine_step *cost, const spec_step_work *fixed);

#endif
