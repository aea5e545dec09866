/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice: which draft length to run, from the sums of an engine's logs.
 * For every K it gives tokens per round, the time of a round relative to a plain token, and the
 * speed-up. Intervals cover sampling; ranges cover what the data leave open. The verdict follows
 * from both. docs/advise.md; docs/formulas.md#advice. */
#ifndef SPECLAB_ADVICE_H
#define SPECLAB_ADVICE_H

#include "experiments/advice/advice_record.h"

/* Answers the question. opt_before are the sums from before a change, if `sums` come from after it.
 * Returns GSL_ENOMEM, or GSL_EDOM for a question outside its domain. */
int spec_advice_of(spec_advice *ret, const spec_observed_sums *sums,
                   const spec_observed_sums *opt_before, const spec_advice_question *question,
                   spec_error *error);

#endif
