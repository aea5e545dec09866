/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/validate_report.h"

#include "base/escape.h"
#include "base/memory_text.h"
#include "speclab/no_memory.h"
#include "tools/validate/samplers/child_environment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char spec_validate_report_late[] = "left out after a call that took longer than --timeout";

const char *spec_validate_report_scope(uint32_t scope)
{
    return scope == SPEC_SCOPE_VERIFY ? "V" : scope == SPEC_SCOPE_DRAFT ? "DV" : "S";
}

const char *spec_validate_report_e(char buffer[SPEC_VALIDATE_NUMBER], double log_e)
{
    const double digits = log_e / M_LN10, whole = floor(digits);
    if (isnan(log_e)) snprintf(buffer, SPEC_VALIDATE_NUMBER, "-");
    else if (isinf(log_e) || fabs(digits) < 4.0)
        snprintf(buffer, SPEC_VALIDATE_NUMBER, "%.3g", exp(log_e));
    else
        snprintf(buffer, SPEC_VALIDATE_NUMBER, "%.1fe%+03.0f", fmin(pow(10.0, digits - whole), 9.9),
                 whole);
    return buffer;
}

/* ---- names from outside ---------------------------------------------------------------------- */

const char *spec_validate_report_clean(char buffer[SPEC_VALIDATE_NAME], const char *text)
{
    snprintf(buffer, SPEC_VALIDATE_NAME, "%s", text);
    spec_escape_in_place(buffer);
    return buffer;
}

static bool is_test(const char *name)
{
    for (int i = 0; spec_tests[i].name != NULL; i++)
        if (strcmp(spec_tests[i].name, name) == 0) return true;
    return false;
}

bool spec_validate_report_is_together(const spec_validation *v)
{
    return v->together != NULL && v->verdict != SPEC_VERDICT_PASS &&
           v->verdict != SPEC_VERDICT_INCONCLUSIVE;
}

/* Writes --only, with those of the user's names that still apply: tests for a fixture, fixtures for
 * a test. */
static void write_only(const spec_validation *v, const char *opt_name, bool tests, bool fixtures,
                       FILE *out)
{
    int n = 0;
    if (opt_name != NULL) fprintf(out, "%s%s", n++ > 0 ? "," : " --only ", opt_name);
    for (int i = 0; v->plan.opt_only != NULL && v->plan.opt_only[i] != NULL; i++)
        if (is_test(v->plan.opt_only[i]) ? tests : fixtures)
            fprintf(out, "%s%s", n++ > 0 ? "," : " --only ", v->plan.opt_only[i]);
}

static uint64_t budget_of(const spec_validation *v, const spec_validate_result *opt_result)
{
    uint64_t budget = 0;
    if (opt_result != NULL)
        return opt_result->budget > opt_result->asked ? opt_result->budget : opt_result->asked;
    if (!(v->plan.seconds > 0.0)) return v->plan.draws;
    for (int i = 0; i < v->n_results; i++) budget += v->result[i].asked;
    return budget;
}

/* Never prints the value of a secret: the next user's environment must have it. */
static bool write_env(const char *entry, FILE *out)
{
    const size_t shown =
        spec_child_environment_is_secret(entry) ? strcspn(entry, "=") : strlen(entry);
    char *text = strndup(entry, shown);
    if (text == NULL) return false;
    fputs(" --env ", out);
    spec_escape_shell(out, text);
    free(text);
    return true;
}

/* Writes the limits of the sampler that are not the defaults. Returns false if out of memory. */
static bool write_limits(const spec_subject_limits *limits, FILE *out)
{
    const spec_subject_limits usual = SPEC_SUBJECT_LIMITS_DEFAULT;
    if (limits->opt_options != NULL) {
        fputs(" --options ", out);
        spec_escape_shell(out, limits->opt_options);
    }
    for (int i = 0; limits->opt_env != NULL && limits->opt_env[i] != NULL; i++)
        if (!write_env(limits->opt_env[i], out)) return false;
    if (limits->timeout != usual.timeout) fprintf(out, " --timeout %.17g", limits->timeout);
    if (limits->memory != usual.memory)
        fprintf(out, " --memory %llu", (unsigned long long)limits->memory);
    return true;
}

char *spec_validate_report_command(const spec_validation *v, const spec_validate_result *opt_result)
{
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return NULL;
    FILE *out = text.out;
    fputs(v->trace ? "speclab validate --trace " : "speclab validate ", out);
    spec_escape_shell_file(out, v->subject);
    if (v->plan.opt_rows != NULL) {
        fputs(" --rows ", out);
        spec_escape_shell_file(out, v->plan.opt_rows);
    }
    if (v->trace) write_only(v, NULL, true, true, out);
    else if (opt_result != NULL) write_only(v, opt_result->kind->name, true, false, out);
    else write_only(v, v->together, false, true, out);
    if (!v->trace)
        fprintf(
            out, " --scopes %s",
            spec_validate_report_scope(opt_result != NULL ? opt_result->scope : v->together_scope));
    if (v->plan.temperature > 0.0) fprintf(out, " --temperature %.15g", v->plan.temperature);
    if (v->plan.dependent) fputs(" --dependent-requests", out);
    fprintf(out, " --seed %llu", (unsigned long long)v->plan.seed);
    if (!v->trace) fprintf(out, " --budget %llu", (unsigned long long)budget_of(v, opt_result));
    if (v->plan.false_alarm_rate != SPEC_VALIDATE_PLAN_DEFAULT.false_alarm_rate)
        fprintf(out, " --false-alarm-rate %g", v->plan.false_alarm_rate);
    const bool whole = v->trace || write_limits(&v->plan.limits, out);
    char *command = spec_memory_text_take(&text, NULL);
    if (whole) return command;
    free(command);
    return NULL;
}

int spec_validate_report_emitted(const spec_reproducer *c)
{
    const int most =
        c->scope == SPEC_SCOPE_STREAM ? SPEC_FIXTURE_NODES_MAX + 1 : c->round.n_nodes + 1;
    return c->round.n_emitted < 0 ? 0 : c->round.n_emitted < most ? c->round.n_emitted : most;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void fill_result(spec_table *table, const spec_validate_result *result)
{
    spec_table_text(table, "fixture", result->kind->name);
    spec_table_text(table, "scope", spec_validate_report_scope(result->scope));
    if (result->skipped != NULL) spec_table_text(table, "skipped", result->skipped);
    if (result->late) spec_table_text(table, "skipped", spec_validate_report_late);
    if (result->skipped != NULL || result->draws + result->rounds == 0) return;
    spec_table_integer(table, "rounds", (long long)result->rounds);
    spec_table_integer(table, "draws", (long long)result->draws);
    spec_table_number(table, "mean_n_accepted", result->accepted);
    for (spec_place place = 0; place < SPEC_PLACES; place++) {
        char column[32];
        snprintf(column, sizeof column, "detectable_%s", spec_place_names[place]);
        if (result->detectable[place].tv < 1.0)
            spec_table_number(table, column, result->detectable[place].tv);
    }
    spec_table_number(table, "tv", result->tv);
    spec_table_text(table, "hard", spec_hard_reasons[result->hard]);
}

int spec_validate_report_table(spec_table *ret, const spec_validation *v, spec_error *error)
{
    static const char *const columns[] = {"fixture",
                                          "scope",
                                          "test",
                                          "n",
                                          "log_e",
                                          "statistic",
                                          "df",
                                          "p",
                                          "seen",
                                          "expected",
                                          "rounds",
                                          "draws",
                                          "mean_n_accepted",
                                          "detectable_first",
                                          "detectable_later",
                                          "detectable_text",
                                          "detectable_correction",
                                          "detectable_bonus",
                                          "tv",
                                          "hard",
                                          "skipped"};
    int status = GSL_SUCCESS;
    *ret = (spec_table){0};
    SPEC_TRY(spec_table_init(ret, columns, (int)(sizeof columns / sizeof columns[0])));
    for (int i = 0; i < v->n_results; i++) {
        const spec_validate_result *result = &v->result[i];
        for (int k = 0; k < result->n_findings; k++) {
            const spec_finding *finding = &result->finding[k];
            fill_result(ret, result);
            spec_table_text(ret, "test", finding->name);
            spec_table_number(ret, "n", finding->n);
            spec_table_number(ret, "log_e", finding->log_e);
            spec_table_number(ret, "statistic", finding->statistic);
            spec_table_number(ret, "df", finding->df);
            spec_table_number(ret, "p", finding->p);
            spec_table_number(ret, "seen", finding->seen);
            spec_table_number(ret, "expected", finding->expected);
            SPEC_TRY(spec_table_append(ret));
        }
        if (result->n_findings > 0) continue;
        fill_result(ret, result);
        SPEC_TRY(spec_table_append(ret));
    }
done:
    if (status == GSL_SUCCESS) return status;
    spec_table_free(ret);
    return spec_no_memory(error);
}

int spec_validate_report_seen(spec_table *ret, const spec_validation *v, spec_error *error)
{
    static const char *const columns[] = {
        "token", "target", "draft", "seen", "n", "drafted", "drafted_expected",
        "accepted_draft", "accepted_draft_expected", "correction", "correction_expected",
        "bonus", "bonus_expected"};
    const spec_reproducer *c = &v->reproducer;
    char name[SPEC_VALIDATE_NAME];
    int status = GSL_SUCCESS;
    *ret = (spec_table){0};
    SPEC_TRY(spec_table_init(ret, columns, (int)(sizeof columns / sizeof columns[0])));
    free(ret->provenance);
    ret->provenance = NULL;
    if (asprintf(&ret->provenance,
                 "figure: conformance\nsampler: %s\nfixture: %s\nscope: %s\nstate: %d\nverdict: %s",
                 spec_validate_report_clean(name, v->subject), c->kind->name,
                 spec_validate_report_scope(c->scope), c->state,
                 spec_validate_verdicts[v->verdict]) < 0) {
        ret->provenance = NULL;
        SPEC_TRY(GSL_ENOMEM);
    }
    for (int k = 0; k < c->n_shown; k++) {
        spec_table_integer(ret, "token", c->token[k]);
        spec_table_number(ret, "target", c->target[k]);
        spec_table_number(ret, "draft", c->draft[k]);
        spec_table_number(ret, "seen", c->seen[k]);
        spec_table_integer(ret, "n", (long long)c->n);
        for (int j = -1; j < SPEC_CAME_KINDS && c->again > 0; j++) {
            char expected[32];
            const char *column = j < 0 ? "drafted" : spec_came_names[j];
            snprintf(expected, sizeof expected, "%s_expected", column);
            spec_table_integer(ret, column, (long long)(j < 0 ? c->drafted[k] : c->came[j][k]));
            spec_table_number(ret, expected, j < 0 ? c->draft_expected[k] : c->token_rule[j][k]);
        }
        SPEC_TRY(spec_table_append(ret));
    }
done:
    if (status == GSL_SUCCESS) return status;
    spec_table_free(ret);
    return spec_no_memory(error);
}
