/* SPDX-License-Identifier: GPL-3.0-or-later */
/* batch_ahead: drafting ahead for a batch of requests, where each draft misses independently.
 * The draft model runs on its own device. Times may be in any unit, the same for all; passes serve
 * the whole batch. Pure functions, NaN outside the domain. For one request see analysis/ahead.h.
 * docs/formulas/serving.md#batch-ahead. */
#ifndef SPECLAB_BATCH_AHEAD_H
#define SPECLAB_BATCH_AHEAD_H

/* Returns the expected time of a step when the whole batch waits until every request has a draft.
 *
 *     max(verify, (K+1) draft) + (1 - hit^B) K draft           docs/formulas/serving.md#batch-ahead
 *
 *   hit     chance that a request's next draft is ready: spec_ahead_hit, in [0,1]
 *   B       requests, >= 1
 *   K       draft length, tokens, >= 1
 *   draft   time of a draft pass over the batch, >= 0
 *   verify  time of the target's pass, >= 0
 * At B = 1 it is spec_ahead_round. Checked by: enumeration of which requests hit. */
double spec_batch_ahead_step(double hit, double B, int K, double draft, double verify);

/* Returns how much faster this step is than drafting first and verifying afterwards: (verify + K
 * draft) / step. */
double spec_batch_ahead_gain(double hit, double B, int K, double draft, double verify);

/* Returns the share of steps in which a request has a draft, if the batch does not wait for missing
 * drafts. A request whose draft missed rides along: for one step it verifies nothing, while its
 * next draft is made from a guess of its next token.
 *
 *     guessed / (1 - hit + guessed)                            docs/formulas/serving.md#batch-ahead
 *
 *   hit      chance that a draft follows a draft: alpha^K guessed
 *   guessed  chance that a draft follows a step without one, in [0,1]: the guess of one token
 *   returns a share; 0 at guessed = 0, where no request has a draft in the long run, and NaN if hit
 *           is 1 as well, because a request then stays as it began
 * Checked by: the Markov chain of one request, iterated. */
double spec_batch_ahead_drafted(double hit, double guessed);

/* Returns the tokens per step and request in that case: share emitted + (1 - share), with emitted =
 * E[n_emitted] >= 1. The step takes max(verify, (K+1) draft). */
double spec_batch_ahead_ride(double hit, double guessed, double emitted);

/* Returns the time to serve two half batches in turn: one drafts while the other is verified.
 *
 *     max(draft + verify, 2 max(draft, verify))                docs/formulas/serving.md#batch-ahead
 *
 *   draft, verify  times of a half batch: K draft passes, and the target's pass, >= 0
 * Each request has one round in this time. Checked by: a schedule of two devices, event by event.
 */
double spec_batch_ahead_halves(double draft, double verify);

#endif
