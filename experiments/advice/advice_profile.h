/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice_profile: the acceptance behind an advice as a profile (sim/acceptance_profile.h).
 * It is the acceptance at the current draft length, over all batches. If a draft ended early, we
 * treat its next token as rejected, so a round has at most K tests. */
#ifndef SPECLAB_ADVICE_PROFILE_H
#define SPECLAB_ADVICE_PROFILE_H

#include "experiments/advice/diagnosis.h"
#include "sim/acceptance_profile.h"

/* Fills a profile, which the caller frees even after a failure. Without acceptance by depth it
 * assumes one rate for all depths, which gives the mean length. Returns GSL_EUNSUP if no round was
 * seen; GSL_EINVAL if more rounds accept a depth than the previous one; GSL_ENOMEM. */
int spec_advice_profile(spec_acceptance_profile *profile, const spec_diagnosis_facts *facts,
                        double error_rate, spec_error *error);

#endif
