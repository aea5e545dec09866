/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exact law of a pair, and texts sampled to compare with it. */
#include "api/lab_pair.h"

#include "experiments/measures/text_law.h"
#include "sim/output_law.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

struct speclab_law {
    speclab *lab;
    const volatile int *opt_stop;
    spec_lab_pair pair;
    spec_output_law exact;
    spec_text_law texts;
};

int32_t speclab_law_open(speclab_law **ret_law, speclab *lab, const speclab_pair *pair,
                         const speclab_law_options *options, char *opt_error, uint64_t error_size)
{
    speclab_law_options o = {.size = 0};
    speclab_law *law = NULL;
    spec_lab_call call;
    int status = GSL_SUCCESS;
    if (ret_law != NULL) *ret_law = NULL;
    SPEC_TRY(spec_lab_enter(&call, lab));
    SPEC_TRY(spec_lab_need(ret_law, "ret_law", &call.error));
    SPEC_TRY(spec_lab_need(options, "options", &call.error));
    SPEC_TRY(spec_lab_take(&o, sizeof o, options, "speclab_law_options", &call.error));
    if (o.tokens < 1)
        SPEC_TRY(spec_fail(&call.error, GSL_EINVAL, "tokens must be at least 1, got %d", o.tokens));
    if ((law = calloc(1, sizeof *law)) == NULL) SPEC_TRY(spec_no_memory(&call.error));
    law->lab = lab;
    law->opt_stop = o.opt_stop;
    SPEC_TRY(spec_lab_pair_init(&law->pair, lab, pair, &call.error));
    law->pair.config.opt_stop = o.opt_stop;
    SPEC_TRY(spec_text_law_init(&law->texts, &law->pair.config, o.tokens, &call.error));
    SPEC_TRY(spec_output_law_init(&law->exact, &law->pair.config, NULL, 0, o.tokens,
                                  o.limit > 0 ? o.limit : SPEC_OUTPUT_LAW_LIMIT, &call.error));
    *ret_law = law;
    law = NULL;
done:
    speclab_law_close(law);
    return spec_lab_leave(&call, status, o.opt_stop, opt_error, error_size);
}

int32_t speclab_law_read(speclab_law_numbers *ret, const speclab_law *law)
{
    if (!spec_lab_clear(ret, sizeof *ret) || law == NULL) return SPECLAB_INPUT;
    *ret = (speclab_law_numbers){.size = sizeof *ret,
                                 .vocab = law->pair.target->vocab,
                                 .n_texts = (int64_t)law->exact.size,
                                 .branches = law->exact.branches,
                                 .tv = law->exact.tv,
                                 .max_error = law->exact.max_error,
                                 .accepted = law->exact.accepted,
                                 .law = law->exact.law,
                                 .promise = law->exact.target_law};
    return SPECLAB_OK;
}

int32_t speclab_law_sample(uint64_t *counts, speclab_law *law, uint64_t seed, uint64_t batch,
                           uint64_t texts, char *opt_error, uint64_t error_size)
{
    _Atomic uint64_t *sampled = NULL;
    spec_lab_call call;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_lab_enter(&call, law != NULL ? law->lab : NULL));
    SPEC_TRY(spec_lab_need(counts, "counts", &call.error));
    if (batch > UINT32_MAX || texts > UINT32_MAX)
        SPEC_TRY(spec_fail(&call.error, GSL_EINVAL, "batch and texts must be below 2^32"));
    if ((sampled = calloc(law->texts.size, sizeof *sampled)) == NULL)
        SPEC_TRY(spec_no_memory(&call.error));
    const uint64_t first = batch << 32;
    const spec_text_samples samples = {
        .seed = seed, .stream = batch, .first = first, .end = first + texts, .step = 1};
    SPEC_TRY(
        spec_text_law_sample(sampled, &law->texts, &samples, law->opt_stop, &call.error));
    for (size_t i = 0; i < law->texts.size; i++) counts[i] += sampled[i];
done:
    free(sampled);
    return spec_lab_leave(&call, status, law != NULL ? law->opt_stop : NULL, opt_error, error_size);
}

double speclab_law_log_e(const speclab_law *law, const uint64_t *counts)
{
    return law != NULL && counts != NULL ? spec_text_law_log_e(&law->texts, counts) : (double)NAN;
}

void speclab_law_close(speclab_law *law)
{
    if (law == NULL) return;
    spec_output_law_free(&law->exact);
    spec_text_law_free(&law->texts);
    spec_lab_pair_free(&law->pair);
    free(law);
}
