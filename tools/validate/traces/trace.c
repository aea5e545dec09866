/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/traces/trace.h"

#include "analysis/statistics/evalue.h"
#include "analysis/statistics/goodness.h"
#include "base/clock.h"
#include "base/input_file.h"
#include "base/names.h"
#include "base/stop_flag.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"
#include "tools/validate/traces/trace_read.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUSPICIOUS 1e-3

enum { STOP_LINES = 4096 }; /* lines between checks of plan->limits.opt_stop */

const spec_fixture_kind spec_trace_kind = {.name = "trace",
                                           .reason = "what an engine did, by its own records",
                                           .scopes = SPEC_SCOPE_STREAM};

/* ---- tests ----------------------------------------------------------------------------------- */

static bool is_wanted(const spec_validate_plan *plan, const char *name)
{
    if (plan->opt_only == NULL || plan->opt_only[0] == NULL) return true;
    for (int i = 0; plan->opt_only[i] != NULL; i++)
        if (strcmp(plan->opt_only[i], name) == 0) return true;
    return false;
}

static int check_only(const spec_validate_plan *plan, spec_error *error)
{
    const char *names[SPEC_TESTS_MAX + 1];
    int n = 0;
    for (; spec_trace_tests[n].name != NULL; n++) names[n] = spec_trace_tests[n].name;
    names[n] = NULL;
    return spec_names_check(plan->opt_only, names, "test of traces", "; --list shows them", error);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Runs the wanted tests: takes the mean of their capitals, and the smallest p-value after Holm's
 * correction. Returns the number of bets. */
static int read_findings(spec_validation *v, const spec_trace_evidence *evidence)
{
    spec_validate_result *result = v->result;
    spec_finding all[SPEC_TESTS_MAX];
    double log_e[SPEC_TESTS_MAX], p[SPEC_TESTS_MAX];
    size_t order[SPEC_TESTS_MAX], n_p = 0;
    int n_e = 0;
    const int n = spec_trace_evidence_findings(all, evidence);
    for (int k = 0; k < n; k++) {
        if (!is_wanted(&v->plan, all[k].name)) continue;
        result->finding[result->n_findings++] = all[k];
        if (!isnan(all[k].log_e)) log_e[n_e++] = all[k].log_e;
        if (!isnan(all[k].p)) p[n_p++] = all[k].p;
    }
    spec_goodness_holm(p, p, n_p, order);
    for (size_t i = 0; i < n_p; i++) result->p = fmin(result->p, p[i]);
    if (n_e > 0) result->log_e = spec_evalue_mean(log_e, n_e);
    return n_e;
}

static const spec_finding *best_of(const spec_validate_result *result, bool by_p)
{
    const spec_finding *best = NULL;
    for (int k = 0; k < result->n_findings; k++) {
        const spec_finding *f = &result->finding[k];
        if (isnan(by_p ? f->p : f->log_e)) continue;
        if (best == NULL || (by_p ? f->p < best->p : f->log_e > best->log_e)) best = f;
    }
    return best;
}

static void say(spec_validation *v, spec_validate_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(spec_validation *v, spec_validate_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(v->reason, sizeof v->reason, format, args);
    va_end(args);
    v->verdict = verdict;
}

/* Gives the reason for a trace without rows, which says how little such a trace can show. */
static void say_without_rows(spec_validation *v, double share)
{
    if (v->draws == 0) say(v, SPEC_VERDICT_INCONCLUSIVE, "no token");
    else if (isnan(share))
        say(v, SPEC_VERDICT_INCONCLUSIVE,
            "no difference seen, but the log has too little to see one: log rows, or more tokens "
            "with the log-probabilities of both models");
    else
        say(v, SPEC_VERDICT_INCONCLUSIVE,
            "no difference seen; log-probabilities alone would have shown, with a chance of %g, "
            "that a share of %.2g of the draft tokens is accepted without a test, but hardly any "
            "other mistake: log rows",
            v->plan.power, share);
}

/* Mentions the order of filters: whole rows are logged raw, and an undeclared order may cause the
 * failure. */
static void say_order(spec_validation *v, const spec_trace_head *head)
{
    const size_t n = strlen(v->reason);
    if (v->verdict == SPEC_VERDICT_PASS || head->orders ||
        !spec_filter_order_matters(&head->transform))
        return;
    snprintf(v->reason + n, sizeof v->reason - n,
             "; filters were taken as joint: \"filters\" in the head declares"
             " another order");
}

static void judge(spec_validation *v, const spec_trace_evidence *evidence)
{
    spec_validate_result *result = v->result;
    uint64_t line;
    const int bets = read_findings(v, evidence);
    const double needed = log(fmax(bets, 1)) - log(0.5 * v->plan.false_alarm_rate);
    const spec_finding *best;
    result->draws = v->draws = spec_trace_evidence_tokens(evidence);
    result->rounds = v->rounds;
    result->accepted = spec_trace_evidence_accepted(evidence);
    result->hard = spec_trace_evidence_hard(evidence, &line);
    const double detectable = spec_trace_evidence_detectable(evidence, needed, v->plan.power);
    for (int place = 0; place < SPEC_PLACES; place++)
        result->detectable[place] = SPEC_DETECTABLE_NONE;
    result->detectable[SPEC_PLACE_TEXT].tv = detectable;
    result->detectable[SPEC_PLACE_TEXT].own = result->draws;
    v->log_e = result->log_e;
    v->p = result->p;
    result->failed = result->hard != SPEC_HARD_NONE ||
                     /* the same threshold as in a run */
                     result->log_e >= -log(0.5 * v->plan.false_alarm_rate);
    if (result->hard != SPEC_HARD_NONE)
        say(v, SPEC_VERDICT_FAIL, "line %llu: %s", (unsigned long long)line,
            spec_hard_reasons[result->hard]);
    else if (result->failed) {
        best = best_of(result, false);
        say(v, v->about.lossy ? SPEC_VERDICT_LOSSY : SPEC_VERDICT_FAIL,
            "the tokens do not follow the recorded rows: the test '%s' shows it best", best->name);
    } else if (result->p <= SUSPICIOUS || result->log_e >= -log(SUSPICIOUS)) {
        best = best_of(result, result->p <= SUSPICIOUS);
        say(v, SPEC_VERDICT_INCONCLUSIVE,
            "suspicious, by the test '%s' (p = %.2g), but not beyond doubt: record a new "
            "and longer trace",
            best->name, fmin(result->p, spec_evalue_p(result->log_e)));
    } else if (spec_trace_evidence_rows(evidence) == 0)
        say_without_rows(v, spec_trace_evidence_share(evidence, needed, v->plan.power));
    else if (v->plan.eps > 0.0 && detectable > v->plan.eps)
        say(v, SPEC_VERDICT_INCONCLUSIVE,
            "a TV of %g could not be certified with this many tokens: the smallest is %.2g",
            v->plan.eps, detectable);
    else if (detectable > SPEC_VALIDATE_TELLING)
        say(v, SPEC_VERDICT_INCONCLUSIVE,
            "too few tokens to tell: a TV of %.2g could have been missed", detectable);
    else
        say(v, SPEC_VERDICT_PASS,
            "no difference seen; a TV of %.2g or more in the tokens' quantiles in the recorded "
            "rows would have been found with a chance of %g",
            detectable, v->plan.power);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_all(spec_trace_evidence *evidence, spec_trace_reader *reader,
                    const spec_validate_plan *plan, spec_error *error)
{
    spec_trace_record record;
    bool end = false;
    for (;;) {
        const int status = spec_trace_read_next(reader, &record, &end, error);
        const uint64_t line = spec_trace_read_line(reader);
        if (status != GSL_SUCCESS || end) return status;
        spec_trace_evidence_add(evidence, &record, line);
        if (line % STOP_LINES == 0 && spec_stop_is_set(plan->limits.opt_stop))
            return spec_fail(error, GSL_EFAILED, "interrupted");
    }
}

int spec_trace_validate_file(spec_validation *ret, FILE *file, const char *name,
                             const spec_validate_plan *plan, spec_error *error)
{
    spec_trace_reader *reader = NULL;
    spec_trace_evidence *evidence = NULL;
    const double begun = spec_clock_monotonic();
    gsl_rng *rng = spec_rng_alloc();
    int status = GSL_SUCCESS;
    *ret = (spec_validation){.plan = *plan, .subject = name, .n_results = 1, .trace = true};
    ret->result = calloc(1, sizeof *ret->result);
    if (rng == NULL || ret->result == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    SPEC_TRY(check_only(plan, error));
    ret->result[0] =
        (spec_validate_result){.kind = &spec_trace_kind, .scope = SPEC_SCOPE_STREAM, .p = 1.0};
    spec_rng_stream(rng, spec_rng_named_seed(plan->seed, "trace"), 0);
    SPEC_TRY(spec_trace_read_open(&reader, file, name, error));
    if (plan->temperature > 0.0)
        SPEC_TRY(spec_trace_read_temperature(reader, plan->temperature, error));
    const spec_trace_head *head = spec_trace_read_head(reader);
    snprintf(ret->about.name, sizeof ret->about.name, "%s", head->name);
    ret->about.scopes = SPEC_SCOPE_STREAM;
    ret->about.lossy = head->lossy;
    SPEC_TRY(spec_trace_evidence_init(&evidence, head, rng, error));
    SPEC_TRY(read_all(evidence, reader, plan, error));
    ret->rounds = spec_trace_read_texts(reader);
    judge(ret, evidence);
    say_order(ret, head);
    ret->seconds = spec_clock_monotonic() - begun;
done:
    spec_trace_read_close(reader);
    spec_trace_evidence_free(evidence);
    if (rng != NULL) gsl_rng_free(rng);
    if (status != GSL_SUCCESS) spec_validation_free(ret);
    return status;
}

int spec_trace_validate(spec_validation *ret, const char *path, const spec_validate_plan *plan,
                        spec_error *error)
{
    if (strcmp(path, "-") == 0)
        return spec_trace_validate_file(ret, stdin, "standard input", plan, error);
    int fd = -1, status = GSL_SUCCESS;
    FILE *file = NULL;
    *ret = (spec_validation){.n_results = 0};
    SPEC_TRY(spec_input_file_open(&fd, path, error));
    if ((file = fdopen(fd, "r")) == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_trace_validate_file(ret, file, path, plan, error));
done:
    if (file != NULL) fclose(file);
    else if (fd >= 0) close(fd);
    return status;
}
