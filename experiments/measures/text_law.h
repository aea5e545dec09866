/* SPDX-License-Identifier: GPL-3.0-or-later */
/* text_law: a chi-square test of sampled texts against the distribution that a decoder claims.
 * The claim is a product of the target's rows, or its argmax text (spec_output_law_promise): an
 * array of V^m probabilities, in which the first token is the most significant digit. Texts begin
 * with the empty context. */
#ifndef SPECLAB_TEXT_LAW_H
#define SPECLAB_TEXT_LAW_H

#include "analysis/statistics/goodness.h"
#include "base/thread_pool.h"
#include "sim/decode.h"

#include <stdatomic.h>

/* Maximum number of possible texts that we test. */
enum { SPEC_TEXT_LAW_MAX = 1000000 };

typedef struct {
    const spec_decoder_config *config; /* borrowed */
    spec_rule rule;
    int tokens;
    size_t size;     /* V^tokens */
    double *promise; /* (size) */
} spec_text_law;

/* Computes the claimed distribution. A text that ends early is padded with its end-of-text token.
 * Returns GSL_EINVAL for an unknown rule, GSL_EMAXITER if V^tokens exceeds SPEC_TEXT_LAW_MAX. */
int spec_text_law_init(spec_text_law *law, const spec_decoder_config *config, int tokens,
                       spec_error *error);
void spec_text_law_free(spec_text_law *law);

/* Samples the texts numbered first, first + step, ..., below `end`, from one random stream of
 * `seed`, and adds one to counts (size) for each. */
typedef struct {
    uint64_t seed, stream, first, end, step;
} spec_text_samples;
int spec_text_law_sample(_Atomic uint64_t *counts, const spec_text_law *law,
                         const spec_text_samples *samples, const volatile int *opt_stop,
                         spec_error *error);

/* Returns the logarithm of an e-value against the claim from counts (size): the mean of Dirichlet
 * bets (analysis/statistics/evalue.h). The order of the texts does not matter. NaN if memory runs
 * out. */
double spec_text_law_log_e(const spec_text_law *law, const uint64_t *counts);

/* Samples texts and tests them. The work is split into 64 streams of `seed`, and counts are
 * integers, so the result does not depend on the number of threads. */
int spec_text_law_test(spec_goodness *ret, const spec_text_law *law, uint64_t samples,
                       uint64_t seed, spec_thread_pool *opt_pool, const volatile int *opt_stop,
                       spec_error *error);

#endif
