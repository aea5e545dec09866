/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/llamacpp_run.h"

#include "experiments/advice/readers/log_fields.h"

#include <string.h>

static const char speed[] = " seconds, speed:";

/* A key that begins the line, behind nothing but the time and level of a log. */
static const char *figure(const char *bytes, size_t n, const char *key)
{
    const char *place = spec_log_find(bytes, n, key);
    if (place == NULL) return NULL;
    for (const char *c = bytes; c < place; c++)
        if (strchr("0123456789.:-+TZIW[] \t", *c) == NULL) return NULL;
    return place + strlen(key);
}

/* Is the line figure, blanks and a number? llama-cli prints "n_predict = 128" among others. */
static bool ends_with_figure(const char *bytes, size_t n, const char *key)
{
    const char *at = figure(bytes, n, key);
    if (at == NULL) return false;
    for (; at < bytes + n; at++)
        if (*at == ',') return at + 1 < bytes + n && at[1] != ' ';
    return true;
}

bool spec_llamacpp_run_concerns(const char *bytes, size_t n)
{
    const char *equals = memchr(bytes, '=', n);
    if (equals != NULL)
        return ends_with_figure(bytes, n, "n_draft   = ") ||
               ends_with_figure(bytes, n, "n_predict = ") ||
               ends_with_figure(bytes, n, "n_drafted = ") ||
               ends_with_figure(bytes, n, "n_accept  = ") ||
               ends_with_figure(bytes, n, "accept    = ");
    return spec_log_find(bytes, n, speed) != NULL && figure(bytes, n, "decoded ") != NULL;
}

static int read_figure(double *ret, bool *ret_known, const spec_log_record *record, const char *key,
                       spec_error *error)
{
    spec_log_scan scan = spec_log_scan_of(record);
    char name[16];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(key, " "), key);
    spec_log_scan_find(&scan, key);
    const int status = spec_log_scan_count(ret, &scan, name, error);
    *ret_known = status == GSL_SUCCESS;
    return status;
}

static int read_decoded(spec_llamacpp_run *run, const spec_log_record *record, spec_error *error)
{
    static const spec_log_field fields[] = {
        {"decoded ", "tokens in", SPEC_LOG_COUNT, true, 0},
        {NULL, "seconds, speed:", SPEC_LOG_REAL, true, 1},
        {0},
    };
    static const spec_log_line form = {"decoded", NULL, fields};
    spec_log_scan scan = spec_log_scan_of(record);
    spec_log_numbers line;
    *run = (spec_llamacpp_run){0};
    const int status = spec_log_fields_read(&line, &form, &scan, error);
    if (status != GSL_SUCCESS) return status;
    run->tokens = line.value[0];
    run->seconds = line.value[1];
    run->decoded = true;
    return GSL_SUCCESS;
}

/* "accept    = 72.055%", of the run that ended. Without a draft it is a quotient of zeros. */
static int check_percentage(const spec_llamacpp_run *run, const spec_log_record *record,
                            spec_error *error)
{
    int status = GSL_SUCCESS, decimals;
    spec_log_scan scan = spec_log_scan_of(record);
    double percentage;
    if (!run->accepted_known || run->drafted == 0.0) return GSL_SUCCESS;
    spec_log_scan_find(&scan, "accept    = ");
    SPEC_TRY(spec_log_scan_real(&percentage, &decimals, &scan, "accept", error));
    SPEC_TRY(spec_log_scan_expect(&scan, "%", "accept", error));
    const double expected = 100.0 * run->accepted / run->drafted;
    /* The program divides in float. */
    if (fabs(percentage - expected) > spec_log_scan_half_unit(decimals) + 1e-5 * expected)
        status = spec_log_bad(record, error, "accept: expected %.3f%% of n_accept and n_drafted",
                              expected);
done:
    return status;
}

static void count_rounds(spec_observation *observation, unsigned *gaps,
                         const spec_llamacpp_run *run)
{
    const double passes = run->predicted - run->accepted, K = run->K;
    double low = ceil(run->drafted / K), high = fmin(passes, run->drafted), rounds = high;
    *gaps = SPEC_LOG_NO_DEPTHS;
    if (run->drafted == 0.0) {
        low = high = rounds = 0.0;
    } else if (!(K >= 1.0)) {
        low = fmin(1.0, high);
    } else if (low > high) { /* more nodes than a chain has */
        *gaps |= SPEC_LOG_TREE;
        low = high;
    } else if (run->drafted == K * (passes - 1.0)) {
        rounds = low; /* all drafts are whole: the first pass had none */
    }
    if (low < high) *gaps |= SPEC_LOG_NO_ROUNDS;
    observation->rounds = rounds;
    observation->rounds_low = low;
    observation->rounds_high = high;
    observation->passes = passes;
}

static int hand_over(const spec_llamacpp_run *run, spec_log_learned *learned,
                     const spec_log_record *record, spec_error *error)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    if (!run->predicted_known || !run->drafted_known)
        return spec_log_bad(record, error, "n_accept: expected n_predict and n_drafted before it");
    if (run->accepted > run->drafted)
        return spec_log_bad(record, error,
                            "n_accept: expected at most the %.0f of n_drafted, "
                            "not %.0f",
                            run->drafted, run->accepted);
    if (run->accepted > run->predicted)
        return spec_log_bad(record, error,
                            "n_accept: expected at most the %.0f of n_predict, "
                            "not %.0f",
                            run->predicted, run->accepted);
    if (run->decoded && run->tokens != run->predicted)
        return spec_log_bad(record, error, "n_predict: expected the %.0f tokens decoded, not %.0f",
                            run->tokens, run->predicted);
    if (run->predicted == 0.0) return GSL_SUCCESS;
    o.K = run->K_known && run->K <= SPEC_OBSERVED_DEPTHS ? (int)run->K : record->K;
    count_rounds(&o, &learned->gaps, run);
    o.drafted = run->drafted;
    o.accepted = run->accepted;
    o.emitted = run->predicted;
    o.running = 1.0;
    if (run->decoded && run->seconds > 0.0)
        o.seconds = run->seconds;
    else
        learned->gaps |= SPEC_LOG_NO_TIMES;
    if (run->drafted > 0.0) o.printed_rate = run->accepted / run->drafted;
    return record->observer->take(record->observer->self, &o, error);
}

int spec_llamacpp_run_read(spec_llamacpp_run *run, bool *ret_ended, spec_log_learned *learned,
                           const spec_log_record *record, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_ended = false;
    if (figure(record->bytes, record->n, "decoded ") != NULL)
        return read_decoded(run, record, error);
    if (figure(record->bytes, record->n, "accept    = ") != NULL)
        return check_percentage(run, record, error);
    if (run->accepted_known) *run = (spec_llamacpp_run){0}; /* a run without "decoded" */
    if (figure(record->bytes, record->n, "n_draft   = ") != NULL)
        return read_figure(&run->K, &run->K_known, record, "n_draft   = ", error);
    if (figure(record->bytes, record->n, "n_predict = ") != NULL)
        return read_figure(&run->predicted, &run->predicted_known, record, "n_predict = ", error);
    if (figure(record->bytes, record->n, "n_drafted = ") != NULL)
        return read_figure(&run->drafted, &run->drafted_known, record, "n_drafted = ", error);
    SPEC_TRY(read_figure(&run->accepted, &run->accepted_known, record, "n_accept  = ", error));
    SPEC_TRY(hand_over(run, learned, record, error));
    *ret_ended = true;
done:
    return status;
}
