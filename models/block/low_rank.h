/* SPDX-License-Identifier: GPL-3.0-or-later */
/* low_rank: approximates rows by one base row plus a low-rank bias on the logits.
 * This is the bias of DSpark's Markov head: logits = base + W2 W1[previous token]. Here we compute
 * the best bias of a given rank, from the truncated singular value decomposition of the log-ratios.
 * The caller owns the rows. */
#ifndef SPECLAB_LOW_RANK_H
#define SPECLAB_LOW_RANK_H

#include "speclab/status.h"

/* Replaces each of the n rows (n, V) by
 *
 *     base(x) exp(bias(row, x)), normalised;  bias ~ log(row(x) / base(x)), of rank `rank`.
 *
 * The bias minimises the squared errors weighted by the mean probability of x, as cross-entropy
 * does to second order. Smaller probabilities are raised to 0.01 / V, so that logits are finite. At
 * rank n or more the rows stay as they are; at rank 0 they are the base, bit for bit. n <= V.
 * Returns GSL_ENOMEM or an error of GSL's Jacobi iteration, each sweep of which costs O(V n^2). */
int spec_low_rank(double *row, const double *base, int n, int vocab, int rank, spec_error *error);

#endif
