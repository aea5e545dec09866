/* place_theory: the exact mean of n_emitted over a pair of rows by place (models/rows/rows.h), as a run simulates it.
 * The chance that a draft token is accepted depends on the place alone, so that rounds are a chain over the places:
 * docs/formulas.md#places. */
#ifndef SPECLAB_PLACE_THEORY_H
#define SPECLAB_PLACE_THEORY_H

#include "sim/sources.h"

/* Most products of the chain that is followed: rounds times draft tokens times places. */
#define SPEC_PLACE_STEPS_MAX 4e9

/* The mean over rounds burn_in + 1 to burn_in + `batch` of texts that begin at the target's prompts, each as often as
 * the others: what batches of that size have, as their number grows. For a chain or greedy draft of fixed length, and a
 * rule that judges each token by the rows of its place (token, match, greedy). NaN for others, for pairs that are not
 * of one file, with a draft that begins elsewhere, where texts may grow longer than SPEC_TEXT_MAX, and beyond
 * SPEC_PLACE_STEPS_MAX. Fails where a row is damaged or memory runs out. */
int spec_place_theory_emitted(double *ret_mean, const spec_decoding_config *config, uint64_t batch, spec_error *error);

#endif
