/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/arrivals.h"

#include "base/names.h"
#include "base/settings.h"

#include <gsl/gsl_randist.h>

static const double RATE_LEAST = 1e-9, RATE_MOST = 1e9;

static const char *name_of(int i)
{
    static const char *const names[] = {"poisson", "gamma", "even", NULL};
    return names[i];
}

const char *const spec_arrivals_usages[] = {
    "poisson\tindependent requests: gaps are exponential",
    "gamma?cv=2\tgamma gaps, whose standard deviation is cv times their mean; cv > 1 has bursts",
    "even\tequal gaps",
    NULL,
};

int spec_arrivals_init(spec_arrivals *arrivals, const char *spec, double rate, spec_error *error)
{
    int status = GSL_SUCCESS;
    double cv = 2.0;
    spec_settings settings = {0};
    *arrivals = (spec_arrivals){.rate = rate};

    if (!(rate >= RATE_LEAST && rate <= RATE_MOST))
        SPEC_TRY(spec_fail(error, GSL_EDOM, "a rate of %g requests/s is not between %g and %g",
                           rate, RATE_LEAST, RATE_MOST));
    SPEC_TRY(spec_settings_init(&settings, spec, error));
    const int kind = spec_names_find(name_of, settings.name, "arrival process", error);
    SPEC_TRY(kind < 0 ? GSL_EINVAL
                      : spec_settings_check(&settings, spec_arrivals_usages[kind], NULL, error));
    SPEC_TRY(spec_settings_double(&cv, &settings, "cv", cv, 0.001, 100.0, error));
    arrivals->kind = kind == 0   ? SPEC_ARRIVALS_POISSON
                     : kind == 1 ? SPEC_ARRIVALS_GAMMA
                                 : SPEC_ARRIVALS_EVEN;
    if (kind == 1) arrivals->shape = 1.0 / (cv * cv);
done:
    spec_settings_free(&settings);
    if (status != GSL_SUCCESS) *arrivals = (spec_arrivals){0};
    return status;
}

double spec_arrivals_gap(const spec_arrivals *arrivals, gsl_rng *rng)
{
    switch (arrivals->kind) {
    case SPEC_ARRIVALS_POISSON: return gsl_ran_exponential(rng, 1.0) / arrivals->rate;
    case SPEC_ARRIVALS_GAMMA:
        return gsl_ran_gamma(rng, arrivals->shape, 1.0) / (arrivals->shape * arrivals->rate);
    case SPEC_ARRIVALS_EVEN: return 1.0 / arrivals->rate;
    default: return 0.0;
    }
}
