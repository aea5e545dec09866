/* SPDX-License-Identifier: GPL-3.0-or-later */
/* likely_drafts: tokens per round at all draft lengths, with drafts that agree with the counters.
 * For a length that was not run, the counters leave a range of tokens, and most of it would take
 * unusual requests. These draws say which tokens are likely.
 * docs/formulas/lengths.md#likely-drafts. */
#ifndef SPECLAB_LIKELY_DRAFTS_H
#define SPECLAB_LIKELY_DRAFTS_H

#include "tools/advise/advice_record.h"

#include <gsl/gsl_rng.h>

enum { SPEC_LIKELY_DRAFTS = 20000 };

/* How a draft is accepted. The alphas of requests are logit-normal; a round draws its own alpha
 * from a Beta distribution around that of its request; and each token of a round is accepted with
 * `decay` times the probability of the token before it. */
typedef struct {
    double center, spread; /* mean and standard deviation of logit(alpha) over requests */
    double over_rounds;    /* a + b of the Beta distribution */
    double decay;
    double weights; /* sum of the weights of this draft and all drafts before it */
} spec_likely_draft;

/* What the counters of one run say. */
typedef struct {
    int K;                    /* >= 1 */
    double rounds, tokens;    /* number of rounds, and tokens per round */
    const double *opt_passed; /* (K) shares of rounds that accept at least j tokens, j = 1..K */
} spec_likely_counters;

/* Draws drafts of all kinds, and weighs each by its distance from the counters of n runs.
 *   ret_drafts  (SPEC_LIKELY_DRAFTS) */
void spec_likely_drafts_weigh(spec_likely_draft *ret_drafts, const spec_likely_counters *runs,
                              int n, gsl_rng *rng);

/* Draws a draft by its weight. Computes its tokens per round at K = 1..highest, divided by those of
 * rounds of run[K] tokens of which only the first cut[K] <= run[K] are used.
 *   ret       (SPEC_ADVICE_K), entries 1..highest
 *   run, cut  (SPEC_ADVICE_K), read at 1..highest */
void spec_likely_drafts_draw(double ret[SPEC_ADVICE_K], const spec_likely_draft *drafts,
                             const int *run, const int *cut, int highest, gsl_rng *rng);

#endif
