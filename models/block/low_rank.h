/* SPDX-License-Identifier: GPL-3.0-or-later */
/* low_rank: rows by previous token, as one base row with a bias of low rank on the logits.
 * The bias of DSpark's Markov head: logits = base + W2 W1[previous token]. Here it is the best of
 * its rank: the truncated singular value decomposition of the log-ratios. The caller owns the
 * rows. */
#ifndef SPECLAB_LOW_RANK_H
#define SPECLAB_LOW_RANK_H

#include "speclab/status.h"

/* Replace each of n rows (n, V) by
 *
 *     base(x) exp(bias(row, x)), normalised;  bias ~ log(row(x) / base(x)), of rank `rank`.
 *
 * The bias minimises the squared errors weighted by the mean probability of x, as cross-entropy
 * does to second order. Probabilities count as at least 0.01 / V, so that logits are finite. From
 * rank n on the rows stay as they are; at rank 0 they are the base, bit for bit. n <= V.
 * GSL_ENOMEM, or an error of GSL's Jacobi iteration. O(V n^2) for each of its sweeps. */
int spec_low_rank(double *row, const double *base, int n, int vocab, int rank, spec_error *error);

#endif
