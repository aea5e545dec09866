/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/slo.h"

#include "base/quantity.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int spec_slo_parse(spec_slo *slo, const char *spec, spec_error *error)
{
    static const double range[2] = {0.0, 1e9};
    spec_settings settings = {0};
    char *text = NULL;
    int status = GSL_SUCCESS;
    *slo = (spec_slo){INFINITY, INFINITY, INFINITY};
    if (spec[0] == '\0') return GSL_SUCCESS;
    if (asprintf(&text, "slo?%s", spec) < 0) return spec_no_memory(error);
    for (char *c = text; (c = strchr(c, ',')) != NULL;) *c = '&';
    SPEC_TRY(spec_settings_init(&settings, text, error));
    SPEC_TRY(spec_settings_check(&settings, "slo?ttft=&tpot=&latency=", NULL, error));
    SPEC_TRY(spec_quantity_setting(&slo->first_token, &settings, "ttft", INFINITY,
                                   SPEC_QUANTITY_TIME, range, error));
    SPEC_TRY(spec_quantity_setting(&slo->per_token, &settings, "tpot", INFINITY, SPEC_QUANTITY_TIME,
                                   range, error));
    SPEC_TRY(spec_quantity_setting(&slo->latency, &settings, "latency", INFINITY,
                                   SPEC_QUANTITY_TIME, range, error));
done:
    spec_settings_free(&settings);
    free(text);
    if (status != GSL_SUCCESS) *slo = (spec_slo){0};
    return status;
}

bool spec_slo_limits(const spec_slo *slo)
{
    return isfinite(slo->first_token) || isfinite(slo->per_token) || isfinite(slo->latency);
}

double spec_slo_share(const spec_slo *slo, const spec_replications *replications)
{
    uint64_t good = 0;
    for (uint64_t i = 0; i < replications->kept; i++)
        good += replications->first_token[i] <= slo->first_token &&
                !(replications->per_token[i] > slo->per_token) &&
                replications->latency[i] <= slo->latency;
    return (double)good / (double)replications->kept;
}
