/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/speedup.h"

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_iid_run iid;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_simulate_iid(&iid, point, measure, error));
    const double speedup = spec_speedup_from_emitted(iid.emitted.mean, iid.K, iid.c);
    const double se = iid.emitted.se / (1.0 + iid.K * iid.c),
                 theory = spec_speedup(iid.alpha, iid.K, iid.c);

    spec_table_integer(table, "rounds", (long long)iid.tally.rounds);
    spec_measures_beside_theory(table, "speedup",
                                &(spec_estimate){.mean = speedup, .se = se, .df = iid.emitted.df},
                                theory);
    for (const spec_folklore *rule = spec_folklore_rules; rule->name != NULL; rule++)
        if (spec_table_column(table, rule->name) >= 0)
            spec_table_number(table, rule->name, rule->speedup(iid.alpha, iid.K, iid.c));
done:
    return status;
}

static const char *const parameters[] = {"alpha", "K", "c=0.1", NULL};
/* After speedup_z comes one column for each of spec_folklore_rules; a test checks that none is
 * missing. */
static const char *const columns[] = {
    "rounds",        "speedup",  "speedup_se", "speedup_theory", "speedup_z", "saved-passes",
    "all-positions", "no-bonus", "run-length", "free-draft",     NULL};
static const spec_headline headlines[] = {{.column = "speedup"}, {0}};
static const char *const checked[] = {"speedup_z", NULL};

const spec_measure spec_measure_folklore = {
    .name = "folklore",
    .summary = "formulas in circulation, compared with Theorem 3.8 and a simulation",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .simulates = true,
    .divides = true,
    .run = run,
};
