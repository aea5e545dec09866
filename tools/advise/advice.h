/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice: which draft length to run, from the sums of an engine's logs.
 * For every K it gives tokens per round, the time of a round relative to a plain token, and the
 * speed-up. Intervals cover sampling error; ranges cover what the data cannot determine. The
 * verdict follows from both. docs/advise.md; docs/formulas/lengths.md#advice. */
#ifndef SPECLAB_ADVICE_H
#define SPECLAB_ADVICE_H

#include "tools/advise/length_speeds.h"

/* Answers the question. opt_before are the sums from before a change, if `sums` come from after it.
 * Returns GSL_ENOMEM, or GSL_EDOM for a question outside its domain. */
int spec_advice_of(spec_advice *ret, const spec_observed_sums *sums,
                   const spec_observed_sums *opt_before, const spec_advice_question *question,
                   spec_error *error);

/* ---- Parts of the answer --------------------------------------------------------------------- */

/* advice_acceptance.c: alpha over tested draft tokens, acceptance by depth, whether requests differ
 * or acceptance decays, drift, and a comparison. docs/formulas/acceptance.md#four-alphas. */

/* Fills alpha, without_longest, longest_share, accepted_over_drafted, missing, undrafted,
 * mixture_z, mixture and drift; those that the runs do not give stay as they are. Returns
 * GSL_ENOMEM. */
int spec_advice_acceptance(spec_advice *advice, const spec_length_plan *plan,
                           const spec_observed_sums *sums);

/* Fills alpha and conditional of the length: alpha from the runs at this length, conditional from
 * runs at it or longer. Returns GSL_ENOMEM. */
int spec_advice_acceptance_at(spec_advice_length *length, const spec_length_plan *plan);

/* Fills compared and change: alpha of the current length before and after. Returns GSL_ENOMEM. */
int spec_advice_compare(spec_advice *advice, const spec_length_plan *plan,
                        const spec_observed_runs *before);

/* advice_choice.c: the verdict. A length is recommended if it loses at most 2 % with a probability
 * of at least .9 (length_speeds.h), and is not slower by estimate than the current one.
 * If there is no interval, it must be clearly faster than the current one. Otherwise the verdict
 * names the length that loses least, and the run that decides. */

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
