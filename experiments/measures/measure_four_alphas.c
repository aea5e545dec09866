/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "analysis/alpha.h"
#include "analysis/capped_geometric.h"
#include "analysis/statistics/moments.h"
#include "sim/chance/rng.h"

#include <math.h>

enum { RESAMPLES = 999 };
#define INTERVAL_ERROR 0.05

static int bootstrap(double *ret_low, double *ret_high, const spec_iid_run *iid, uint64_t seed,
                     spec_error *error)
{
    double work[RESAMPLES];
    gsl_rng *rng = spec_rng_alloc();
    if (rng == NULL) return spec_no_memory(error);
    spec_rng_stream(rng, spec_rng_named_seed(seed, "bootstrap"), 0);
    int status = spec_alpha_bootstrap(ret_low, ret_high, iid->tally.n_accepted, iid->K,
                                      INTERVAL_ERROR, RESAMPLES, work, rng);
    gsl_rng_free(rng);
    return status == GSL_SUCCESS
               ? status
               : spec_fail(error, status, "the bootstrap failed: %s", gsl_strerror(status));
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_iid_run iid;
    uint64_t passed, tested;
    double low, high, boot_low, boot_high;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_simulate_iid(&iid, point, measure, error));
    SPEC_TRY(bootstrap(&boot_low, &boot_high, &iid, point->seed, error));
    const uint64_t *counts = iid.tally.n_accepted;
    spec_alpha_trials(&passed, &tested, counts, iid.K);
    spec_alpha_wilson_interval(&low, &high, passed, tested, INTERVAL_ERROR);
    const double mle = spec_alpha_mle(counts, iid.K),
                 ratio = spec_alpha_accepted_over_drafted(counts, iid.K);
    const double se = sqrt(iid.alpha * (1.0 - iid.alpha) / (double)tested);

    spec_table_integer(table, "rounds", (long long)iid.tally.rounds);
    spec_table_number(table, "alpha_mle", mle);
    spec_table_number(table, "alpha_se", se);
    spec_table_number(table, "alpha_z",
                      tested > 0 ? spec_moments_z(mle, iid.alpha, se, INFINITY) : NAN);
    spec_table_number(table, "wilson_low", low);
    spec_table_number(table, "wilson_high", high);
    spec_table_number(table, "bootstrap_low", boot_low);
    spec_table_number(table, "bootstrap_high", boot_high);
    spec_table_number(table, "accepted_over_drafted", ratio);
    spec_table_number(table, "emitted_over_K1", spec_alpha_emitted_over_K1(counts, iid.K));
    spec_table_number(table, "emitted", iid.emitted.mean);
    spec_table_number(table, "emitted_se", iid.emitted.se);
    spec_table_number(table, "emitted_true", spec_capped_geometric_mean(iid.alpha, iid.K));
    spec_table_number(table, "emitted_if_mistaken", spec_capped_geometric_mean(ratio, iid.K));
done:
    return status;
}

static const char *const parameters[] = {"alpha", "K", NULL};
static const char *const columns[] = {"rounds",
                                      "alpha_mle",
                                      "alpha_se",
                                      "alpha_z",
                                      "wilson_low",
                                      "wilson_high",
                                      "bootstrap_low",
                                      "bootstrap_high",
                                      "accepted_over_drafted",
                                      "emitted_over_K1",
                                      "emitted",
                                      "emitted_se",
                                      "emitted_true",
                                      "emitted_if_mistaken",
                                      NULL};
static const spec_headline headlines[] = {
    {.column = "alpha_mle", .se = "alpha_se"},
    {.column = "accepted_over_drafted"},
    {0},
};
static const char *const checked[] = {"alpha_z", NULL};

const spec_measure spec_measure_four_alphas = {
    .name = "four_alphas",
    .summary = "four numbers that are all called the acceptance rate, with 95 % intervals, and "
               "what it costs to confuse them",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .simulates = true,
    .divides = true,
    .run = run,
};
