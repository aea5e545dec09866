/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_theory: the exact mean of n_emitted over a file of rows (models/rows/rows.h).
 * The probability that a draft token is accepted depends only on its position in the file, so
 * rounds are a Markov chain over the positions: docs/formulas/acceptance.md#places. */
#ifndef SPECLAB_PLACE_THEORY_H
#define SPECLAB_PLACE_THEORY_H

#include "sim/sources.h"

/* Maximum steps of the chain: rounds times draft tokens times positions. */
#define SPEC_PLACE_STEPS_MAX 4e9

/* Computes the mean over rounds burn_in + 1 to burn_in + `batch` of texts that begin equally often
 * at each of the target's prompts. Means of batches of that size converge to it as their number
 * grows. It requires a chain or greedy draft of fixed length, and a rule that judges each token by
 * the rows of its position (token, match, greedy). The mean is NaN for other configs, for pairs of
 * two files, for a draft that begins elsewhere, if texts may exceed SPEC_TEXT_MAX, and beyond
 * SPEC_PLACE_STEPS_MAX. Fails if a row is damaged or memory runs out. */
int spec_place_theory_emitted(double *ret_mean, const spec_decoding_config *config, uint64_t batch,
                              spec_error *error);

#endif
