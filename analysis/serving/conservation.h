/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conservation: identities that the sums of every run of a serving engine obey.
 * They hold for any engine, any load and any length of the run, because requests under way at the
 * beginning or end of the measured part are counted too. Integers agree exactly, times up to
 * rounding. Pure functions. [Little61]; docs/formulas/serving.md#conservation. */
#ifndef SPECLAB_CONSERVATION_H
#define SPECLAB_CONSERVATION_H

#include "speclab/serving.h"

#include <stdbool.h>

/* Checks that every token comes from a prefill or a round and goes to a request: emitted + cut =
 * first + rounds + accepted, emitted = written, and the batch sizes add up to the rounds. */
bool spec_conservation_tokens(const spec_serving_sums *sums);

/* Checks that every KV block that was taken has been freed or is still held. */
bool spec_conservation_blocks(const spec_serving_sums *sums);

/* Checks that the number of requests in the system, integrated over time, equals the total time
 * that requests spent there. */
bool spec_conservation_little(const spec_serving_sums *sums);

/* Checks that the steps took as long as their parts together:
 *
 *     time = step steps + draft_round drafting + draft_pass passes + extra
 *
 * The step must be affine, and drafts must not be made ahead or in halves. */
bool spec_conservation_time(const spec_serving_sums *sums, const spec_affine_step *cost);

/* Returns NULL if the sums obey all of these, else a text that names the broken one. Without a cost
 * the time is not checked. */
const char *spec_conservation_broken(const spec_serving_sums *sums,
                                     const spec_affine_step *opt_cost);

#endif
