/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice_acceptance: the acceptance that an advice reports, from the runs of an engine.
 * It reports alpha over tested draft tokens, acceptance by depth, whether requests differ or
 * acceptance decays, drift, and a comparison of before and after. docs/formulas.md#four-alphas. */
#ifndef SPECLAB_ADVICE_ACCEPTANCE_H
#define SPECLAB_ADVICE_ACCEPTANCE_H

#include "experiments/advice/length_speeds.h"

/* Fills alpha, without_longest, longest_share, accepted_over_drafted, missing, mixture_z, mixture
 * and drift. Returns GSL_ENOMEM. */
int spec_advice_acceptance(spec_advice *advice, const spec_length_plan *plan,
                           const spec_observed_sums *sums);

/* Fills alpha and conditional of the length: alpha from the runs at this length, conditional from
 * runs at it or longer. Returns GSL_ENOMEM. */
int spec_advice_acceptance_at(spec_advice_length *length, const spec_length_plan *plan);

/* Fills compared and change: alpha of the current length before and after. Returns GSL_ENOMEM. */
int spec_advice_compare(spec_advice *advice, const spec_length_plan *plan,
                        const spec_observed_runs *before);

#endif
