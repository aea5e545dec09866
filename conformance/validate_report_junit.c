/* The report for CI systems: a test case for each fixture and scope, in the XML that JUnit has made common. */
#include "conformance/validate_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_escaped(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&apos;", out); break;
        default: fputc(*text, out);
        }
    }
}

/* A name or a line from anywhere. */
static void write_clean(const char *text, FILE *out)
{
    char clean[SPEC_VALIDATE_NAME];
    write_escaped(spec_validate_report_clean(clean, text), out);
}

static void write_property(const char *name, const char *value, FILE *out)
{
    fprintf(out, "      <property name=\"%s\" value=\"", name);
    write_clean(value, out);
    fputs("\"/>\n", out);
}

static void write_properties(const spec_validation *v, FILE *out)
{
    char text[64];
    fputs("    <properties>\n", out);
    write_property("verdict", spec_validate_verdicts[v->verdict], out);
    write_property("reason", v->reason, out);
    write_property("sampler", v->subject, out);
    snprintf(text, sizeof text, "%llu", (unsigned long long)v->plan.seed);
    write_property("seed", text, out);
    snprintf(text, sizeof text, "%llu", (unsigned long long)v->draws);
    write_property("draws", text, out);
    snprintf(text, sizeof text, "%g", v->plan.alpha);
    write_property("false_alarm_rate", text, out);
    snprintf(text, sizeof text, "%g", v->plan.power);
    write_property("power", text, out);
    snprintf(text, sizeof text, "%.6g", v->detectable);
    write_property("detectable_tv", text, out);
    snprintf(text, sizeof text, "%.6g", v->log_e);
    write_property("log_e", text, out);
    snprintf(text, sizeof text, "%.6g", v->p);
    write_property("p", text, out);
    fputs("    </properties>\n", out);
}

static bool is_failure(const spec_validation *v, const spec_validate_result *result)
{
    return v->verdict == SPEC_VERDICT_FAIL && result->failed;
}

static void write_failure(const spec_validation *v, const spec_validate_result *result, FILE *out)
{
    char e[SPEC_VALIDATE_NUMBER], *text = NULL;
    size_t size = 0;
    fputs("      <failure type=\"not lossless\" message=\"", out);
    if (result->hard != SPEC_HARD_NONE) write_clean(spec_hard_reasons[result->hard], out);
    else
        fprintf(out, "e = %s, p = %.2g", spec_validate_report_e(e, result->log_e), result->p);
    if (result->tv > 0.0) fprintf(out, ", TV about %.2g", result->tv);
    fputs("\">", out);
    if (v->reproducer.kind == result->kind && v->reproducer.scope == result->scope) {
        FILE *memory = open_memstream(&text, &size);
        if (memory != NULL) {
            spec_validate_report_reproducer(v, memory);
            if (fclose(memory) == 0) write_escaped(text, out);
        }
        free(text);
    } else if ((text = spec_validate_report_command(v, result)) != NULL) {
        write_escaped(text, out);
        free(text);
    }
    fputs("</failure>\n", out);
}

static void write_case(const spec_validation *v, const spec_validate_result *result, FILE *out)
{
    const char *scope = spec_validate_report_scope(result->scope);
    char e[SPEC_VALIDATE_NUMBER];
    fprintf(out, "    <testcase classname=\"speclab.validate.%s\" name=\"", scope);
    write_clean(result->kind->name, out);
    fprintf(out, " [%s]\">\n", scope);
    if (result->skipped != NULL || result->draws + result->rounds == 0) {
        fputs("      <skipped message=\"", out);
        write_clean(result->skipped != NULL ? result->skipped : "the run was over before it began", out);
        fputs("\"/>\n", out);
    } else {
        if (is_failure(v, result)) write_failure(v, result, out);
        fprintf(out, "      <system-out>%llu draws; e = %s; p = %.3g after Holm; detectable TV %.3g; TV %.3g",
                (unsigned long long)result->draws, spec_validate_report_e(e, result->log_e), result->p,
                result->detectable, result->tv);
        fputs("</system-out>\n", out);
    }
    fputs("    </testcase>\n", out);
}

int spec_validate_report_junit(const spec_validation *v, FILE *out, spec_error *error)
{
    const bool undecided = v->verdict == SPEC_VERDICT_INCONCLUSIVE;
    int failures = 0, skipped = 0;
    for (int i = 0; i < v->n_results; i++) {
        failures += is_failure(v, &v->result[i]);
        skipped += v->result[i].skipped != NULL || v->result[i].draws + v->result[i].rounds == 0;
    }
    errno = 0;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"speclab validate ", out);
    write_clean(v->subject, out);
    fprintf(out, "\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\"", v->n_results + undecided, failures,
            (int)undecided, skipped);
    if (v->plan.seconds > 0.0) fprintf(out, " time=\"%.3f\"", v->seconds);
    fputs(">\n", out);
    write_properties(v, out);
    for (int i = 0; i < v->n_results; i++) write_case(v, &v->result[i], out);
    if (undecided) { /* no fixture failed, and yet the job must not be green */
        fputs("    <testcase classname=\"speclab.validate\" name=\"verdict\">\n", out);
        fputs("      <error type=\"INCONCLUSIVE\" message=\"", out);
        write_clean(v->reason, out);
        fputs("\"/>\n    </testcase>\n", out);
    }
    fputs("  </testsuite>\n</testsuites>\n", out);
    if (fflush(out) == 0 && !ferror(out)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "%s", strerror(errno));
}
