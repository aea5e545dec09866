/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/text_law.h"

#include "analysis/statistics/evalue.h"
#include "base/noise.h"
#include "base/parallel.h"
#include "base/stop_flag.h"
#include "sim/chance/rng.h"
#include "sim/output_law.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 64, TOKENS_MAX = 64 };
#define MIN_EXPECTED 5.0

/* ---- the promise ----------------------------------------------------------------------------- */

int spec_text_law_init(spec_text_law *law, const spec_decoder_config *config, int tokens,
                       spec_error *error)
{
    const size_t vocab = (size_t)config->target->vocab;
    int status = GSL_SUCCESS;
    *law = (spec_text_law){.config = config, .tokens = tokens, .size = 1};
    SPEC_TRY(spec_rule_init(&law->rule, config->rule, error));
    for (int i = 0; i < tokens && law->size > 0; i++)
        law->size =
            i < TOKENS_MAX && law->size <= SPEC_TEXT_LAW_MAX / vocab ? law->size * vocab : 0;
    if (law->size == 0) {
        status = spec_fail(error, GSL_EMAXITER,
                           "%d tokens of %zu words each make over %d texts: too many to test",
                           tokens, vocab, SPEC_TEXT_LAW_MAX);
        goto done;
    }
    law->promise = calloc(law->size, sizeof *law->promise);
    if (law->promise == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_output_law_promise(law->promise, config, law->rule.claim == SPEC_LOSSLESS_ARGMAX,
                                     NULL, 0, tokens, error));
done:
    if (status != GSL_SUCCESS) spec_text_law_free(law);
    return status;
}

void spec_text_law_free(spec_text_law *law)
{
    free(law->promise);
    *law = (spec_text_law){0};
}

/* ---- samples --------------------------------------------------------------------------------- */

int spec_text_law_sample(_Atomic uint64_t *counts, const spec_text_law *law,
                         const spec_text_samples *samples, const volatile int *opt_stop,
                         spec_error *error)
{
    spec_decoder decoder = {0};
    gsl_rng *rng = spec_rng_alloc();
    int text[TOKENS_MAX], status = GSL_SUCCESS;
    if (rng == NULL) return spec_no_memory(error);
    spec_rng_stream(rng, samples->seed, samples->stream);
    spec_chance chance = spec_chance_sampled(rng);
    SPEC_TRY(spec_decoder_init(&decoder, law->config, error));
    for (uint64_t i = samples->first; i < samples->end; i += samples->step) {
        size_t n;
        SPEC_TRY(spec_stop_check(opt_stop, error));
        decoder.text = spec_noise_word(samples->seed, i);
        SPEC_TRY(spec_decoder_reset(&decoder, NULL, 0, error));
        SPEC_TRY(spec_decode(&decoder, (size_t)law->tokens, text, &n, &chance, NULL, error));
        const size_t index =
            spec_output_law_index(text, n, law->config->target->vocab, law->tokens);
        atomic_fetch_add_explicit(&counts[index], 1, memory_order_relaxed);
    }
done:
    spec_decoder_free(&decoder);
    gsl_rng_free(rng);
    return status;
}

double spec_text_law_log_e(const spec_text_law *law, const uint64_t *counts)
{
    static const double weight[] = {0.5, 20.0, 500.0, 10000.0}; /* draws per text */
    enum { WEIGHTS = sizeof weight / sizeof *weight };
    double log_e[WEIGHTS];
    uint64_t *none = calloc(law->size, sizeof *none);
    if (none == NULL) return NAN;
    for (int w = 0; w < WEIGHTS; w++)
        log_e[w] = spec_evalue_dirichlet(counts, none, law->promise, (int)law->size,
                                         weight[w] * (double)law->size);
    free(none);
    return spec_evalue_mean(log_e, WEIGHTS);
}

/* ---- the test -------------------------------------------------------------------------------- */

typedef struct {
    int status;
    spec_error error;
} stream_result;

typedef struct {
    stream_result *result;
    _Atomic uint64_t *counts;
    const spec_text_law *law;
    uint64_t samples, seed;
    const volatile int *opt_stop;
} job;

static void sample_one(void *self, uint64_t stream, int worker)
{
    const job *j = self;
    stream_result *result = &j->result[stream];
    (void)worker;
    const spec_text_samples samples = {
        .seed = j->seed, .stream = stream, .first = stream, .end = j->samples, .step = STREAMS};
    result->status =
        spec_text_law_sample(j->counts, j->law, &samples, j->opt_stop, &result->error);
}

int spec_text_law_test(spec_goodness *ret, const spec_text_law *law, uint64_t samples,
                       uint64_t seed, spec_thread_pool *opt_pool, const volatile int *opt_stop,
                       spec_error *error)
{
    stream_result result[STREAMS];
    uint64_t *counts = calloc(law->size, sizeof *counts);
    _Atomic uint64_t *shared = calloc(law->size, sizeof *shared);
    int status = GSL_SUCCESS;
    *ret = (spec_goodness){0};
    if (counts == NULL || shared == NULL) SPEC_TRY(spec_no_memory(error));
    memset(result, 0, sizeof result);
    spec_parallel_run(opt_pool, sample_one, &(job){result, shared, law, samples, seed, opt_stop},
                      STREAMS, spec_thread_pool_size(opt_pool));
    for (size_t i = 0; i < law->size; i++) counts[i] = shared[i];
    for (int s = 0; s < STREAMS; s++) {
        if (result[s].status == GSL_SUCCESS) continue;
        status = spec_fail(error, result[s].status, "%s", result[s].error.text);
        goto done;
    }
    if ((status = spec_goodness_chi_square(ret, counts, law->promise, law->size, MIN_EXPECTED,
                                           0)) != GSL_SUCCESS)
        spec_fail(error, status, "the chi-square test failed: %s", gsl_strerror(status));
done:
    free(counts);
    free(shared);
    return status;
}
