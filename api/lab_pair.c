/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/lab_pair.h"

#include "models/model_open.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

int spec_lab_pair_init(spec_lab_pair *pair, speclab *lab, const speclab_pair *given,
                       spec_error *error)
{
    speclab_pair p;
    int status = GSL_SUCCESS;
    *pair = (spec_lab_pair){.config = SPEC_DECODER_DEFAULT};
    SPEC_TRY(spec_lab_need(given, "pair", error));
    SPEC_TRY(spec_lab_take(&p, sizeof p, given, "speclab_pair", error));
    SPEC_TRY(spec_lab_need(p.target, "target of speclab_pair", error));
    if (p.K < 0 || p.K > SPEC_K_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "K must be 0 to %d, got %d", SPEC_K_MAX, p.K));
    SPEC_TRY(spec_model_open(&pair->target, p.target, NULL, &lab->context, error));
    if (p.draft != NULL)
        SPEC_TRY(spec_model_open(&pair->draft, p.draft, pair->target, &lab->context, error));
    pair->drafting = strdup(p.drafting != NULL ? p.drafting : pair->config.drafting);
    pair->policy = strdup(p.policy != NULL ? p.policy : pair->config.policy);
    pair->rule = strdup(p.rule != NULL ? p.rule : pair->config.rule);
    if (pair->drafting == NULL || pair->policy == NULL || pair->rule == NULL)
        SPEC_TRY(spec_no_memory(error));
    pair->config.target = pair->target;
    pair->config.opt_draft = pair->draft;
    pair->config.drafting = pair->drafting;
    pair->config.policy = pair->policy;
    pair->config.rule = pair->rule;
    pair->config.K = p.K;
done:
    if (status != GSL_SUCCESS) spec_lab_pair_free(pair);
    return status;
}

void spec_lab_pair_free(spec_lab_pair *pair)
{
    spec_model_close(pair->draft);
    spec_model_close(pair->target);
    free(pair->drafting);
    free(pair->policy);
    free(pair->rule);
    *pair = (spec_lab_pair){.target = NULL};
}
