/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/validate_list.h"

#include "cli/list_page.h"
#include "tools/validate/mutants/mutants.h"
#include "tools/validate/traces/trace_evidence.h"
#include "tools/validate/validate_report.h"

#include <string.h>

static void add(const spec_validate_args *args, spec_table *table, const char *kind,
                const char *name, const char *scopes, const char *reason)
{
    bool wanted = args->only == NULL;
    for (int i = 0; !wanted && args->only[i] != NULL; i++)
        wanted = strcmp(args->only[i], name) == 0;
    if (!wanted) return;
    spec_table_text(table, "kind", kind);
    spec_table_text(table, "name", name);
    spec_table_text(table, "scopes", scopes);
    spec_table_text(table, "reason", reason);
    spec_table_append(table);
}

/* Returns the scopes as letters, such as "V S". */
static const char *scopes_of(char text[16], uint32_t scopes)
{
    text[0] = '\0';
    for (uint32_t scope = SPEC_SCOPE_VERIFY; scope <= SPEC_SCOPE_STREAM; scope <<= 1) {
        if (!(scopes & scope)) continue;
        strcat(text, text[0] != '\0' ? " " : "");
        strcat(text, spec_validate_report_scope(scope));
    }
    return text;
}

static void list_fixtures(const spec_validate_args *args, spec_table *table)
{
    char scopes[16];
    const spec_fixture_kind *kind;
    for (int i = 0; (kind = spec_validate_fixture(&args->plan, i)) != NULL; i++)
        add(args, table, "fixture", kind->name, scopes_of(scopes, kind->scopes), kind->reason);
}

static const spec_list_heading headings[] = {
    {"fixture",
     "Fixtures, for --only, with their scopes; in names like k5-v17 a number stands for a "
     "class, which the text says"},
    {"test", "Tests, for --only"},
    {"trace test", "Tests of --trace"},
    {"sampler", "Samplers: what 'speclab validate' takes"},
    {"mistake", "Known mistakes, mutant:NAME, which --self-test must find"},
    {"exact sampler", "Exact samplers, mutant:NAME, which --self-test must pass"},
    {NULL, NULL},
};

int spec_validate_list(const spec_validate_args *args, const char *verb)
{
    static const char *const columns[] = {"kind", "name", "scopes", "reason"};
    spec_table table = {0};
    char scopes[16];
    if (spec_table_init(&table, columns, 4) != GSL_SUCCESS) spec_usage_no_memory(verb);
    list_fixtures(args, &table);
    for (int i = 0; spec_tests[i].name != NULL; i++)
        add(args, &table, "test", spec_tests[i].name, "", spec_tests[i].reason);
    for (int i = 0; spec_trace_tests[i].name != NULL; i++)
        add(args, &table, "trace test", spec_trace_tests[i].name, "", spec_trace_tests[i].reason);
    for (int i = 0; spec_subject_kinds[i] != NULL; i++)
        add(args, &table, "sampler", spec_subject_kinds[i]->usage, "",
            spec_subject_kinds[i]->summary);
    for (int i = 0; spec_mutants_at(i) != NULL; i++) {
        const spec_mutant *mutant = spec_mutants_at(i);
        const bool exact = mutant->kind == SPEC_MUTANT_EXACT;
        add(args, &table, exact ? "exact sampler" : "mistake", mutant->name,
            scopes_of(scopes, mutant->scope), mutant->mistake + (exact ? strlen("none: ") : 0));
    }
    if (table.n_rows == 0 && !table.lost)
        spec_usage_fail(verb,
                        "--only: there is no fixture, test or sampler '%s'; 'speclab validate "
                        "--list' names them",
                        args->only[0]);
    const int code = spec_list_page_show(&table, headings, &args->common, verb);
    spec_table_free(&table);
    return code;
}
