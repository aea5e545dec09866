/* SPDX-License-Identifier: GPL-3.0-or-later */
/* static_batch: what a batch loses whose requests start together and wait for the slowest.
 * Continuous batching has no such loss: it fills the slot of a request that ends. Pure functions.
 * docs/formulas.md#static-batch. */
#ifndef SPECLAB_STATIC_BATCH_H
#define SPECLAB_STATIC_BATCH_H

#include "analysis/serving/rounds_law.h"

/* Mean number of rounds until the last of B requests ends.
 *
 *     E[max N] = sum_j 1 - (1 - P(N > j))^B                          docs/formulas.md#static-batch
 *
 *   law   of a request's rounds; mixed over requests if they differ, which are then drawn from it
 *   B     requests, independent, >= 1
 *   returns rounds, >= E[N]; over spec_rounds_law_mean, the factor that the batch loses. NaN for B
 *           < 1
 * Checked by: the sum over all outcomes of a small batch. */
double spec_static_batch_rounds(const spec_rounds_law *law, double B);

#endif
