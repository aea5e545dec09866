/* SPDX-License-Identifier: GPL-3.0-or-later */
/* static_batch: what a batch loses if its requests start together and wait for the slowest.
 * Continuous batching has no such loss, because it refills a slot as soon as its request ends. Pure
 * functions. docs/formulas/serving.md#static-batch. */
#ifndef SPECLAB_STATIC_BATCH_H
#define SPECLAB_STATIC_BATCH_H

#include "analysis/serving/rounds_law.h"

/* Returns the mean number of rounds until the last of B requests ends.
 *
 *     E[max N] = sum_j 1 - (1 - P(N > j))^B                   docs/formulas/serving.md#static-batch
 *
 *   law   rounds of a request; if requests differ, the mixture from which they are drawn
 *   B     requests, independent, >= 1
 *   returns rounds, >= E[N]. Divided by spec_rounds_law_mean, this is the slow-down of the batch.
 *           NaN for B < 1
 * Checked by: the sum over all outcomes of a small batch. */
double spec_static_batch_rounds(const spec_rounds_law *law, double B);

#endif
