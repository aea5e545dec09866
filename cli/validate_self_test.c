#include "cli/validate_self_test.h"

#include "cli/usage.h"
#include "cli/verb.h"
#include "conformance/self_test.h"
#include "conformance/validate_report.h"

#include <unistd.h>

static void show_progress(void *self, const spec_self_test_line *line, int done, int all)
{
    (void)self;
    if (!isatty(STDERR_FILENO)) return;
    if (done < all) fprintf(stderr, "\r\033[K%d of %d known mistakes: %s", done, all, line->mutant->name);
    else fputs("\r\033[K", stderr);
    fflush(stderr);
}

static int fill(spec_table *table, const spec_self_test_result *result)
{
    static const char *const columns[] = {"mutant", "scope", "outcome", "fixture", "test", "draws", "n_found", "runs",
                                          "tv", "tv_se", "tv_fixture", "mistake", "where"};
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
    plan.threads = args->plan.threads;
    plan.opt_only = args->plan.opt_only;
    plan.progress = show_progress;
    if (args->budget_given) plan.draws = args->plan.draws;
    if (spec_self_test(&result, &plan, &error) != GSL_SUCCESS) {
        spec_usage_say(verb, "--self-test: %s", error.text);
        return SPEC_EXIT_USAGE;
    }
    if (fill(&table, &result) != GSL_SUCCESS) spec_usage_say(verb, "out of memory");
    else code = spec_options_show(&table, &args->common, verb);
    if (code == SPEC_EXIT_HOLDS && result.n_wrong > 0) {
        spec_usage_say(verb, "%d of %d, known mistakes and exact algorithms, are not called what they are",
                       result.n_wrong, result.n);
        code = SPEC_EXIT_FAILS;
    }
    spec_table_free(&table);
    spec_self_test_free(&result);
    return code;
}
