/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/validate_self_test.h"

#include "cli/progress_reports.h"
#include "cli/stop.h"
#include "cli/usage.h"
#include "cli/verb.h"
#include "tools/validate/self_test.h"
#include "tools/validate/validate_report.h"

static int fill(spec_table *table, const spec_self_test_result *result)
{
    static const char *const columns[] = {"mutant",  "scope", "outcome", "fixture",    "test",
                                          "draws",   "n_found", "runs",  "hint",       "other_hint",
                                          "needs",   "tv",    "tv_se",   "tv_fixture", "mistake",
                                          "where"};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_table_init(table, columns, (int)(sizeof columns / sizeof columns[0])));
    for (int i = 0; i < result->n; i++) {
        const spec_self_test_line *line = &result->line[i];
        spec_table_text(table, "mutant", line->mutant->name);
        spec_table_text(table, "scope", spec_validate_report_scope(line->mutant->scope));
        spec_table_text(table, "outcome", spec_self_test_outcome(line));
        if (line->fixture != NULL) spec_table_text(table, "fixture", line->fixture);
        if (line->test != NULL) spec_table_text(table, "test", line->test);
        spec_table_number(table, "draws", line->draws);
        spec_table_integer(table, "n_found", line->n_found);
        spec_table_integer(table, "runs", line->runs);
        if (line->hint != NULL) spec_table_text(table, "hint", line->hint);
        if (line->other_hint != NULL) spec_table_text(table, "other_hint", line->other_hint);
        if (line->needed[0] != '\0') spec_table_text(table, "needs", line->needed);
        if (line->worst.kind != NULL) {
            spec_table_number(table, "tv", line->worst.tv);
            spec_table_number(table, "tv_se", line->worst.se);
            spec_table_text(table, "tv_fixture", line->worst.kind->name);
        }
        spec_table_text(table, "mistake", line->mutant->mistake);
        spec_table_text(table, "where", line->mutant->where);
        SPEC_TRY(spec_table_append(table));
    }
done:
    return status;
}

int spec_validate_self_test(const spec_validate_args *args, const char *verb)
{
    spec_self_test_result result;
    spec_self_test_plan plan = SPEC_SELF_TEST_PLAN_DEFAULT;
    spec_table table = {0};
    spec_error error = {{0}};
    int code = SPEC_EXIT_USAGE;
    plan.seed = args->plan.seed;
    plan.opt_pool = args->plan.opt_pool;
    plan.opt_only = args->plan.opt_only;
    plan.opt_stop = &spec_stop;
    plan.progress = spec_progress_reports_mistakes;
    if (args->budget_given) plan.draws = args->plan.draws;
    if (spec_self_test(&result, &plan, &error) != GSL_SUCCESS) {
        spec_usage_say(verb, "--self-test: %s", error.text);
        return SPEC_EXIT_USAGE;
    }
    if (fill(&table, &result) != GSL_SUCCESS) spec_usage_say(verb, "out of memory");
    else code = spec_options_show(&table, &args->common, verb);
    if (code == SPEC_EXIT_HOLDS && result.n < result.all) {
        spec_usage_say(verb, "interrupted after %d of %d known mistakes and exact algorithms",
                       result.n, result.all);
        code = SPEC_EXIT_USAGE;
    }
    if (code == SPEC_EXIT_HOLDS && result.n_wrong > 0) {
        spec_usage_say(verb, "%d of %d known mistakes and exact algorithms get the wrong verdict",
                       result.n_wrong, result.n);
        code = SPEC_EXIT_FAILS;
    }
    if (result.n_failed > 0 && code != SPEC_EXIT_USAGE)
        fprintf(stderr,
                "first hint right: %d of %d FAILs; wrong: %d\n"
                "other mistakes that explain as much: %d\n",
                result.n_hinted, result.n_failed, result.n_misled, result.n_other);
    /* The bound is 90 % of the whole catalogue; for a few mistakes a single one would exceed it. */
    if (code == SPEC_EXIT_HOLDS && plan.opt_only == NULL &&
        result.n_hinted < SPEC_SELF_TEST_HINTED * result.n_failed) {
        spec_usage_say(verb, "fewer than 90 %% of the first hints name the mistake");
        code = SPEC_EXIT_FAILS;
    }
    spec_table_free(&table);
    spec_self_test_free(&result);
    return code;
}
