/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conservation: identities that the sums of every run of a serving engine obey.
 * The first two hold exactly. The ratios are 1 up to requests in the system at both ends of the
 * measured part. Their effects have equal means in a stationary run. Pure functions.
 * [Little61]; docs/formulas.md#conservation. */
#ifndef SPECLAB_CONSERVATION_H
#define SPECLAB_CONSERVATION_H

#include "speclab/serving.h"

#include <stdbool.h>

/* Every token is of a prefill or of a round: emitted + cut = first + rounds + accepted; and rounds
 * are the sum of batches. */
bool spec_conservation_tokens(const spec_serving_sums *sums);

/* Every KV block that was taken is freed or kept. */
bool spec_conservation_blocks(const spec_serving_sums *sums);

/* Lengths of completed requests over emitted tokens. NaN at 0 tokens. */
double spec_conservation_lengths(const spec_serving_sums *sums);

/* Little's law: the latencies of completed requests over the time integral of the requests in the
 * system. */
double spec_conservation_little(const spec_serving_sums *sums);

/* The time of steps: the work of completed requests and of the engine over the steps' time,
 *
 *     (step steps + draft_round drafting + draft_pass passes + extra) / time
 *
 * For an affine step whose drafts are not made ahead or in halves. */
double spec_conservation_time(const spec_serving_sums *sums, const spec_affine_step *cost);

#endif
