/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/validate_check_power.h"

#include "cli/stop.h"
#include "cli/usage.h"
#include "cli/verb.h"
#include "conformance/power_check.h"
#include "conformance/validate_report.h"

static int fill(spec_table *table, const spec_power_check_result *result)
{
    static const char *const columns[] = {"fixture", "scope", "place", "state", "direction",
                                          "tv",      "found", "runs",  "low",   "high"};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_table_init(table, columns, (int)(sizeof columns / sizeof columns[0])));
    for (int i = 0; i < result->n; i++) {
        const spec_power_check_line *line = &result->line[i];
        spec_table_text(table, "fixture", line->kind->name);
        spec_table_text(table, "scope", spec_validate_report_scope(line->scope));
        spec_table_text(table, "place", spec_place_names[line->bias.place]);
        spec_table_integer(table, "state", line->bias.state);
        spec_table_text(table, "direction", spec_bias_directions[line->bias.direction]);
        spec_table_number(table, "tv", line->bias.tv);
        spec_table_integer(table, "runs", line->runs);
        if (line->runs > 0) {
            spec_table_integer(table, "found", line->found);
            spec_table_number(table, "low", line->low);
            spec_table_number(table, "high", line->high);
        }
        SPEC_TRY(spec_table_append(table));
    }
done:
    return status;
}

int spec_validate_check_power(const spec_validate_args *args, const char *verb)
{
    spec_power_check_result result;
    spec_validate_plan plan = args->plan;
    spec_table table = {0};
    spec_error error = {{0}};
    int code = SPEC_EXIT_USAGE;
    plan.endless = args->watch;
    if (!args->budget_given) plan.draws = SPEC_POWER_CHECK_DRAWS;
    if (spec_power_check(&result, args->check_power, &plan, &error) != GSL_SUCCESS) {
        spec_usage_say(verb, spec_stop ? "interrupted" : "--check-power: %s", error.text);
        return SPEC_EXIT_USAGE;
    }
    if (fill(&table, &result) != GSL_SUCCESS)
        spec_usage_say(verb, "out of memory");
    else
        code = spec_options_show(&table, &args->common, verb);
    if (code == SPEC_EXIT_HOLDS && result.done < result.all) {
        spec_usage_say(verb, "interrupted after %d of %d runs", result.done, result.all);
        code = SPEC_EXIT_USAGE;
    }
    if (code == SPEC_EXIT_HOLDS && result.n_short > 0) {
        spec_usage_say(verb, "%d of %d differences are found less often than the reported power %g",
                       result.n_short, result.n, plan.power);
        code = SPEC_EXIT_FAILS;
    }
    spec_table_free(&table);
    spec_power_check_free(&result);
    return code;
}
