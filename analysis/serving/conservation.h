/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conservation: identities that the sums of every run of a serving engine obey.
 * They hold for any engine, load and length of the run, since requests under way at both ends of
 * the measured part are counted: whole numbers exactly, times up to rounding. Pure functions.
 * [Little61]; docs/formulas.md#conservation. */
#ifndef SPECLAB_CONSERVATION_H
#define SPECLAB_CONSERVATION_H

#include "speclab/serving.h"

#include <stdbool.h>

/* Every token is of a prefill or of a round, and of a request: emitted + cut = first + rounds +
 * accepted, and emitted = written; and rounds are the sum of batches. */
bool spec_conservation_tokens(const spec_serving_sums *sums);

/* Every KV block that was taken is freed or kept. */
bool spec_conservation_blocks(const spec_serving_sums *sums);

/* The time integral of the requests in the system is the time that requests were present. */
bool spec_conservation_little(const spec_serving_sums *sums);

/* The time of steps is that of the engine and of requests:
 *
 *     time = step steps + draft_round drafting + draft_pass passes + extra
 *
 * For an affine step whose drafts are not made ahead or in halves. */
bool spec_conservation_time(const spec_serving_sums *sums, const spec_affine_step *cost);

/* NULL if the sums obey all of these, else what they break. Without a cost the time is not
 * checked. */
const char *spec_conservation_broken(const spec_serving_sums *sums,
                                     const spec_affine_step *opt_cost);

#endif
