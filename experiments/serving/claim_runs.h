/* SPDX-License-Identifier: GPL-3.0-or-later */
/* claim_runs: quantities of claims that the serving engine simulates (claim.h).
 * Replications draw from streams of their own, so results do not depend on threads. */
#ifndef SPECLAB_CLAIM_RUNS_H
#define SPECLAB_CLAIM_RUNS_H

#include "experiments/serving/claim.h"

/* Mean latency at K = 0 over that at K: Poisson arrivals at the claim's rate, the same for both,
 * without limits of the engine. 8 replications of 20000 requests after 6000; the interval is that
 * of spec_paired_latency. */
int spec_claim_latency_speedup(spec_claim_value *ret, const spec_claim *claim, spec_error *error);

/* Rounds of a request in a closed loop of `batch` requests, over E[N] of its law: 1 without
 * synchronisation. */
int spec_claim_continuous_rounds(spec_claim_value *ret, const spec_claim *claim, spec_error *error);

/* Tokens per second over those of plain decoding, means over all requests of the file. Each is
 * served in a batch of copies of itself, which begin together and replay its accepted lengths: the
 * method of the simulator of SpecDecode-Bench [LiuX25]. The interval is over requests. Prompts are
 * computed in one step. */
int spec_claim_replayed_speedup(spec_claim_value *ret, const spec_claim *claim, spec_error *error);

#endif
