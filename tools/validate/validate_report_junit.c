/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report for CI systems: JUnit XML with a test case for each fixture and scope. */
#include "tools/validate/validate_report.h"

#include "base/escape.h"
#include "base/memory_text.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_property(const char *name, const char *value, FILE *out)
{
    fprintf(out, "      <property name=\"%s\" value=\"", name);
    spec_escape_html(out, value);
    fputs("\"/>\n", out);
}

static void write_properties(const spec_validation *v, FILE *out)
{
    char text[64];
    fputs("    <properties>\n", out);
    write_property("verdict", spec_validate_verdicts[v->verdict], out);
    write_property("reason", v->reason, out);
    if (v->each.asked) write_property("each_request", v->each.reason, out);
    write_property("sampler", v->subject, out);
    snprintf(text, sizeof text, "%llu", (unsigned long long)v->plan.seed);
    write_property("seed", text, out);
    snprintf(text, sizeof text, "%llu", (unsigned long long)v->draws);
    write_property("draws", text, out);
    snprintf(text, sizeof text, "%g", v->plan.false_alarm_rate);
    write_property("false_alarm_rate", text, out);
    snprintf(text, sizeof text, "%g", v->plan.power);
    write_property("power", text, out);
    for (spec_place place = 0; place < SPEC_PLACES; place++) {
        char name[32];
        if (v->power[place].covered == 0) continue;
        snprintf(name, sizeof name, "detectable_%s", spec_place_names[place]);
        snprintf(text, sizeof text, "%.6g on %d of %d", v->power[place].worst,
                 v->power[place].covered, v->power[place].reached);
        write_property(name, text, out);
    }
    snprintf(text, sizeof text, "%.6g", v->log_e);
    write_property("log_e", text, out);
    snprintf(text, sizeof text, "%.6g", v->p);
    write_property("p", text, out);
    fputs("    </properties>\n", out);
}

static bool is_failed(const spec_validation *v)
{
    return v->verdict == SPEC_VERDICT_FAIL || v->verdict == SPEC_VERDICT_DEPENDENT;
}

static const char *failure_type(const spec_validation *v)
{
    return v->verdict == SPEC_VERDICT_DEPENDENT ? "dependent requests" : "not lossless";
}

static bool is_failure(const spec_validation *v, const spec_validate_result *result)
{
    return is_failed(v) && result->failed;
}

/* Returns the reason for skipping; NULL if it ran to the end. */
static const char *why_skipped(const spec_validate_result *result)
{
    if (result->skipped != NULL || result->late)
        return result->late ? spec_validate_report_late : result->skipped;
    return result->draws + result->rounds == 0 ? "the run ended before this test began" : NULL;
}

/* Writes and frees the text; returns false for NULL, which means out of memory. */
static bool write_taken(char *text, FILE *out)
{
    if (text == NULL) return false;
    spec_escape_html(out, text);
    free(text);
    return true;
}

static bool write_reproducer(const spec_validation *v, FILE *out)
{
    spec_memory_text text;
    const bool whole = spec_memory_text_open(&text) && spec_validate_report_reproducer(v, text.out);
    return write_taken(spec_memory_text_take(&text, NULL), out) && whole;
}

/* Reports the failure of a test over all fixtures when no single fixture fails. */
static bool write_together(const spec_validation *v, FILE *out)
{
    fprintf(out,
            "    <testcase classname=\"speclab.validate\" name=\"all fixtures together\">\n"
            "      <failure type=\"%s\" message=\"",
            failure_type(v));
    spec_escape_html(out, v->reason);
    fputs("\">", out);
    const bool whole = write_reproducer(v, out);
    fputs("</failure>\n    </testcase>\n", out);
    return whole;
}

/* Returns false if out of memory. */
static bool write_failure(const spec_validation *v, const spec_validate_result *result, FILE *out)
{
    char e[SPEC_VALIDATE_NUMBER];
    fprintf(out, "      <failure type=\"%s\" message=\"", failure_type(v));
    if (result->hard != SPEC_HARD_NONE) spec_escape_html(out, spec_hard_reasons[result->hard]);
    else
        fprintf(out, "e = %s, p = %.2g", spec_validate_report_e(e, result->log_e), result->p);
    if (result->tv > 0.0) fprintf(out, ", TV about %.2g", result->tv);
    fputs("\">", out);
    const bool shown = v->reproducer.kind == result->kind && v->reproducer.scope == result->scope;
    const bool whole = shown ? write_reproducer(v, out)
                             : write_taken(spec_validate_report_command(v, result), out);
    fputs("</failure>\n", out);
    return whole;
}

static bool write_case(const spec_validation *v, const spec_validate_result *result, FILE *out)
{
    const char *scope = spec_validate_report_scope(result->scope);
    char e[SPEC_VALIDATE_NUMBER];
    fprintf(out, "    <testcase classname=\"speclab.validate.%s\" name=\"", scope);
    spec_escape_html(out, result->kind->name);
    fprintf(out, " [%s]\">\n", scope);
    const char *skipped = why_skipped(result);
    if (skipped != NULL && !is_failure(v, result)) {
        fputs("      <skipped message=\"", out);
        spec_escape_html(out, skipped);
        fputs("\"/>\n", out);
    } else {
        if (is_failure(v, result) && !write_failure(v, result, out)) return false;
        fprintf(out,
                "      <system-out>%llu draws; e = %s; p = %.3g after Holm; TV %.3g; detectable TV",
                (unsigned long long)result->draws, spec_validate_report_e(e, result->log_e),
                result->p, result->tv);
        for (spec_place place = 0; place < SPEC_PLACES; place++)
            if (result->detectable[place].tv < 1.0)
                fprintf(out, " %s %.3g", spec_place_names[place], result->detectable[place].tv);
        fputs("</system-out>\n", out);
    }
    fputs("    </testcase>\n", out);
    return true;
}

int spec_validate_report_junit(const spec_validation *v, FILE *out, spec_error *error)
{
    const bool undecided = v->verdict == SPEC_VERDICT_INCONCLUSIVE;
    const bool together = is_failed(v) && v->together != NULL;
    int failures = together, skipped = 0;
    for (int i = 0; i < v->n_results; i++) {
        failures += is_failure(v, &v->result[i]);
        skipped += why_skipped(&v->result[i]) != NULL && !is_failure(v, &v->result[i]);
    }
    errno = 0;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"speclab "
          "validate ",
          out);
    spec_escape_html(out, v->subject);
    fprintf(out, "\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\"",
            v->n_results + undecided + together, failures, (int)undecided, skipped);
    if (v->plan.seconds > 0.0) fprintf(out, " time=\"%.3f\"", v->seconds);
    fputs(">\n", out);
    write_properties(v, out);
    for (int i = 0; i < v->n_results; i++)
        if (!write_case(v, &v->result[i], out)) return spec_no_memory(error);
    if (together && !write_together(v, out)) return spec_no_memory(error);
    if (undecided) { /* no fixture failed, but the job must not be green */
        fputs("    <testcase classname=\"speclab.validate\" name=\"verdict\">\n", out);
        fputs("      <error type=\"INCONCLUSIVE\" message=\"", out);
        spec_escape_html(out, v->reason);
        fputs("\"/>\n    </testcase>\n", out);
    }
    fputs("  </testsuite>\n</testsuites>\n", out);
    if (fflush(out) == 0 && !ferror(out)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "%s", strerror(errno));
}
