/* SPDX-License-Identifier: GPL-3.0-or-later */
/* claim_runs: quantities of claims that the serving engine simulates (claim.h).
 * Each replication draws from its own stream, so results do not depend on threads. */
#ifndef SPECLAB_CLAIM_RUNS_H
#define SPECLAB_CLAIM_RUNS_H

#include "tools/serve/claim.h"

/* Computes mean latency at K = 0 over mean latency at K. Both get the same Poisson arrivals at the
 * claim's rate, and the engine has no limits. 8 replications have 20000 requests each, after 6000
 * that are not measured. The interval is from spec_paired_latency. */
int spec_claim_latency_speedup(spec_claim_value *ret, const spec_claim *claim, spec_error *error);

/* Computes the rounds of a request in a closed loop of `batch` requests, divided by E[N] of its
 * distribution. This is 1 if requests do not wait for each other. */
int spec_claim_continuous_rounds(spec_claim_value *ret, const spec_claim *claim, spec_error *error);

/* Computes tokens per second divided by plain decoding's, both as means over all requests of the
 * file. Each request is served in a batch of copies of itself, which start together and replay its
 * accepted lengths; the simulator of SpecDecode-Bench works this way [LiuX25]. The interval is over
 * requests. Prompts are computed in one step. */
int spec_claim_replayed_speedup(spec_claim_value *ret, const spec_claim *claim, spec_error *error);

#endif
