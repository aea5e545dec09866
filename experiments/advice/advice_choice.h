/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice_choice: the verdict of an advice, and its draft lengths by batch, from resampled speeds.
 * A length is recommended if it loses at most 2 %, with confidence. If there is no interval, it
 * must be clearly faster than the current one. Otherwise the verdict names the length that loses
 * least, and the run that decides. docs/formulas.md#advice. */
#ifndef SPECLAB_ADVICE_CHOICE_H
#define SPECLAB_ADVICE_CHOICE_H

#include "experiments/advice/length_samples.h"

/* If a length is faster by less than this, we call both equally good. */
#define SPEC_ADVICE_TOLERANCE 0.02
/* Without an interval, we call a length that was run faster than the current one only if it is
 * faster by more than this. */
#define SPEC_ADVICE_CLEAR 0.1

/* Chooses from the lengths of the advice: fills verdict, to_K, decides_K, gain, loss and
 * length[].best. Returns GSL_ENOMEM. */
int spec_advice_choose(spec_advice *advice, spec_length_samples *samples);

/* Fills batch and n_batches: for each range of batches the fastest length that ran in it, or the
 * smaller one if two are equal. A length is considered only if it ran with about as many requests
 * as the current one. Neighbouring ranges with the same length form one entry. n_batches is 0 if no
 * range has two lengths, and at equal request rate. Returns GSL_ENOMEM. */
int spec_advice_choose_by_batch(spec_advice *advice, const spec_length_plan *plan);

#endif
