/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_advice: writes what bench concludes: the gain, what limits it, and what to try next.
 * Every sentence is computed from the numbers of the table, so it cannot contradict them.
 * docs/formulas/costs.md#limits. */
#ifndef SPECLAB_TIMING_ADVICE_H
#define SPECLAB_TIMING_ADVICE_H

#include "tools/bench/timing_result.h"

/* What the intervals show. They hold for all K at once. */
typedef enum {
    SPEC_TIMING_GAINS, /* the interval of the best K is above 1 */
    SPEC_TIMING_LOSES, /* the interval of every K above 0 is below 1 */
    SPEC_TIMING_OPEN,  /* neither */
    SPEC_TIMING_NOTHING /* no K above 0 has a reported speed-up */
} spec_timing_verdict;

/* Sets *ret_best to the row of the best K, or NULL. */
spec_timing_verdict spec_timing_advice_verdict(const spec_timing_result *result,
                                               const spec_timing_result_row **ret_best);

/* The parts of a round. */
typedef enum {
    SPEC_LIMIT_DRAFT,
    SPEC_LIMIT_VERIFY,
    SPEC_LIMIT_ACCEPTANCE,
    SPEC_LIMIT_REST,
    SPEC_LIMITS
} spec_limit;

/* Returns by what factor, at least 1, the speed-up would grow if one limit went away and everything
 * else stayed as measured.
 *
 *     draft        round / (round - draft)                 drafting takes no time
 *     verify       round / (round - (verify - plain))      verifying takes as long as a plain token
 *     acceptance   (K + 1) / tokens                        every draft token is accepted
 *     rest         round / (round - rule - rest)           rule and bookkeeping take no time */
double spec_timing_advice_factor(const spec_timing_result *result,
                                 const spec_timing_result_row *row, spec_limit limit);

/* Writes verdict, predictions, limits and suggestions. Returns GSL_ENOMEM if out of memory. */
int spec_timing_advice_write(const spec_timing_result *result, FILE *out, spec_error *error);

#endif
