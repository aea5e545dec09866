/* SPDX-License-Identifier: GPL-3.0-or-later */
/* minimax_length: the draft length that loses least if acceptance or times are not known.
 * A scenario is one possible combination of acceptance and times. Pure functions.
 * docs/formulas/lengths.md#minimax-length. */
#ifndef SPECLAB_MINIMAX_LENGTH_H
#define SPECLAB_MINIMAX_LENGTH_H

/* Computes the largest loss of each length over the scenarios, compared with the fastest length of
 * the same scenario:
 *
 *     loss_k = max over s of 1 - speed[s][k] / max_j speed[s][j]
 *
 * If only alpha is unknown, in [low, high], its two ends are enough as scenarios:
 * speed(K')/speed(K) increases with alpha for K' > K, so the largest loss of a length is at an end.
 *   ret_loss   (n) in [0,1]
 *   speed      (scenarios, n) row-major, > 0
 *   returns    the length with the smallest loss, the first one among ties; -1 for n < 1, no
 *              scenario, or a speed that is not positive; ret_loss is then NaN
 * Checked by: a grid of alphas between the ends; published numbers. */
int spec_minimax_length(double *ret_loss, const double *speed, int scenarios, int n);

#endif
