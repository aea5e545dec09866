/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_theory: the exact mean of n_emitted over a file of rows (models/rows/rows.h), as simulated.
 * The chance that a draft token is accepted depends only on the place, so rounds are a Markov chain
 * over the places: docs/formulas.md#places. */
#ifndef SPECLAB_PLACE_THEORY_H
#define SPECLAB_PLACE_THEORY_H

#include "sim/sources.h"

/* Maximum steps of the chain: rounds times draft tokens times places. */
#define SPEC_PLACE_STEPS_MAX 4e9

/* Computes the mean over rounds burn_in + 1 to burn_in + `batch` of texts that begin at each of the
 * target's prompts equally often: the limit of batches of that size as their number grows. It
 * requires a chain or greedy draft of fixed length, and a rule that judges each token by the rows
 * of its place (token, match, greedy). NaN for other configs, for pairs of two files, for a draft
 * that begins elsewhere, if texts may exceed SPEC_TEXT_MAX, and beyond SPEC_PLACE_STEPS_MAX. Fails
 * if a row is damaged or memory runs out. */
int spec_place_theory_emitted(double *ret_mean, const spec_decoding_config *config, uint64_t batch,
                              spec_error *error);

#endif
