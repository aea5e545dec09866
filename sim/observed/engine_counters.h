/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_counters: the counters of a simulated engine, as its log or responses report them.
 * The engine (speclab/counted_engine.h) is always full. A run depends only on its arguments:
 * threads and instruction sets do not change a byte. analysis/acceptance/counter_limits.h has the
 * limits of the counters. */
#ifndef SPECLAB_ENGINE_COUNTERS_H
#define SPECLAB_ENGINE_COUNTERS_H

#include "sim/serving/requests/alpha_law.h"
#include "speclab/counted_engine.h"
#include "speclab/status.h"

#include <stdint.h>

/* Sums over the rounds of a window of time, or of a request. */
typedef struct {
    uint64_t begun; /* requests that began; each also emits its first token */
    uint64_t rounds, drafted, accepted;
    uint64_t emitted; /* tokens after the first ones, cut at the length of their request */
    uint64_t n_accepted[SPEC_COUNTED_K + 1]; /* [k]: rounds that accepted k draft tokens */
    double seconds;
} spec_engine_counters;

/* Simulates n windows of `seconds` each. A step counts in the window in which it begins. The engine
 * is stationary when the first window begins: slots hold requests in proportion to their rounds
 * (exactly for stay = 0, and very nearly otherwise). Returns GSL_EDOM for an engine outside its
 * domain, n < 1 or seconds outside (0,1e9]; GSL_ENOMEM. */
int spec_engine_counters_windows(spec_engine_counters *ret_window, int n, double seconds,
                                 const spec_counted_engine *engine, const spec_alpha_law *alpha,
                                 uint64_t seed, uint64_t stream, spec_error *error);

/* Does the same for windows of a number of steps, and fills in their seconds. Returns GSL_EDOM for
 * steps < 1. */
int spec_engine_counters_steps(spec_engine_counters *ret_window, int n, int steps,
                               const spec_counted_engine *engine, const spec_alpha_law *alpha,
                               uint64_t seed, uint64_t stream, spec_error *error);

/* Simulates the first n requests that begin, each to its end, in the order in which they begin;
 * `seconds` is from the beginning of the first step of a request to the end of its last. */
int spec_engine_counters_requests(spec_engine_counters *ret_request, int n,
                                  const spec_counted_engine *engine, const spec_alpha_law *alpha,
                                  uint64_t seed, uint64_t stream, spec_error *error);

/* Returns how many rounds accepted the draft token at depth j, 1 <= j <= SPEC_COUNTED_K. */
static inline uint64_t spec_engine_counters_passed(const spec_engine_counters *counters, int j)
{
    uint64_t passed = 0;
    for (int k = j; k <= SPEC_COUNTED_K; k++) passed += counters->n_accepted[k];
    return passed;
}

#endif
