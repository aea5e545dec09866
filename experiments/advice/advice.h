/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice: which draft length to run, from the sums of an engine's logs.
 * For every K it has tokens per round, the time of a round over a plain token, and the speed-up.
 * Intervals cover sampling, and ranges what the data leave open. The verdict follows from them.
 * docs/advise.md; docs/formulas.md#advice. */
#ifndef SPECLAB_ADVICE_H
#define SPECLAB_ADVICE_H

#include "experiments/advice/advice_record.h"

/* GSL_ENOMEM; GSL_EDOM for a question outside its domain. opt_before: the sums of a time before a
 * change, beside `sums` after it. */
int spec_advice_of(spec_advice *ret, const spec_observed_sums *sums,
                   const spec_observed_sums *opt_before, const spec_advice_question *question,
                   spec_error *error);

#endif
