/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/vllm_lines.h"

#include "analysis/acceptance/rounded_counts.h"

#include <math.h>
#include <string.h>

/* A real number or "nan". */
static int scan_real(double *ret, int *opt_decimals, spec_log_scan *scan, const char *name,
                     spec_error *error)
{
    *ret = NAN;
    if (opt_decimals != NULL) *opt_decimals = 0;
    if (spec_log_scan_word(scan, "nan")) return GSL_SUCCESS;
    return spec_log_scan_real(ret, opt_decimals, scan, name, error);
}

/* ---- V0: totals since the engine started ----------------------------------------------------- */

typedef struct {
    double rate, efficiency; /* fractions, or NaN */
    int rate_decimals, efficiency_decimals;
    double K, accepted, drafted, emitted; /* accepted: with those behind a rejection */
} totals_line;

static int scan_total(double *ret, spec_log_scan *scan, const char *name, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_log_scan_expect(scan, ", ", "Speculative metrics", error));
    SPEC_TRY(spec_log_scan_expect(scan, name, "Speculative metrics", error));
    SPEC_TRY(spec_log_scan_expect(scan, ": ", name, error));
    SPEC_TRY(spec_log_scan_count(ret, scan, name, error));
done:
    return status;
}

static int scan_totals(totals_line *line, spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_log_scan_expect(scan, "Draft acceptance rate: ", "Speculative metrics", error));
    SPEC_TRY(scan_real(&line->rate, &line->rate_decimals, scan, "Draft acceptance rate", error));
    SPEC_TRY(spec_log_scan_expect(scan, ", System efficiency: ", "Speculative metrics", error));
    SPEC_TRY(
        scan_real(&line->efficiency, &line->efficiency_decimals, scan, "System efficiency", error));
    SPEC_TRY(scan_total(&line->K, scan, "Number of speculative tokens", error));
    SPEC_TRY(scan_total(&line->accepted, scan, "Number of accepted tokens", error));
    SPEC_TRY(scan_total(&line->drafted, scan, "Number of draft tokens", error));
    /* The full stop behind the last number is no decimal point. */
    const char *stop = memchr(scan->at, '.', (size_t)(scan->end - scan->at));
    spec_log_scan last = {scan->at, stop != NULL ? stop : scan->end, scan->record};
    SPEC_TRY(scan_total(&line->emitted, &last, "Number of emitted tokens", error));
    scan->at = last.at;
    SPEC_TRY(spec_log_scan_expect(scan, ".", "Number of emitted tokens", error));
done:
    return status;
}

static int check_totals(const totals_line *line, const spec_log_record *record, spec_error *error)
{
    const double rounds = line->drafted / line->K, most = rounds * (line->K + 1.0);
    if (line->K < 1.0 || line->K > SPEC_OBSERVED_DEPTHS)
        return spec_log_bad(record, error,
                            "Number of speculative tokens: expected 1 to %d, not %.0f",
                            SPEC_OBSERVED_DEPTHS, line->K);
    if (rounds != floor(rounds))
        return spec_log_bad(record, error,
                            "Number of draft tokens: expected a multiple of the %.0f tokens of a "
                            "round, not %.0f",
                            line->K, line->drafted);
    if (line->accepted > line->drafted ||
        spec_log_scan_differs(line->rate, line->rate_decimals, line->accepted / line->drafted))
        return spec_log_bad(record, error,
                            "Number of accepted tokens: %.0f of %.0f contradicts the acceptance "
                            "rate of %g",
                            line->accepted, line->drafted, line->rate);
    if (line->emitted < rounds || line->emitted > most ||
        spec_log_scan_differs(line->efficiency, line->efficiency_decimals, line->emitted / most))
        return spec_log_bad(record, error,
                            "Number of emitted tokens: %.0f of %.0f rounds contradicts K = %.0f "
                            "or the system efficiency of %g",
                            line->emitted, rounds, line->K, line->efficiency);
    return GSL_SUCCESS;
}

int spec_vllm_lines_totals(spec_observation *o, spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    totals_line line;
    *o = spec_observation_empty(SPEC_OBSERVED_TOTAL, scan->record->line);
    SPEC_TRY(scan_totals(&line, scan, error));
    SPEC_TRY(check_totals(&line, scan->record, error));
    o->K = (int)line.K;
    o->rounds = o->rounds_low = o->rounds_high = o->passes = line.drafted / line.K;
    o->drafted = line.drafted;
    o->accepted = line.emitted - o->rounds; /* a round emits one token more than it accepts */
    o->emitted = line.emitted;
    o->printed_rate = line.rate;
done:
    return status;
}

/* ---- V1: counts of an interval --------------------------------------------------------------- */

/* The fields of the line, in any order. */
enum { RATE, LENGTH, ACCEPTED_PER_S, DRAFTED_PER_S, ACCEPTED, DRAFTED, BY_DEPTH, AVERAGE, FIELDS };
static const struct {
    const char *name, *unit;
} fields[FIELDS] = {[RATE] = {"Draft acceptance rate", "%"},
                    [LENGTH] = {"Mean acceptance length", ""},
                    [ACCEPTED_PER_S] = {"Accepted throughput", "tokens/s"},
                    [DRAFTED_PER_S] = {"Drafted throughput", "tokens/s"},
                    [ACCEPTED] = {"Accepted", "tokens"},
                    [DRAFTED] = {"Drafted", "tokens"},
                    [BY_DEPTH] = {"Per-position acceptance rate", ""},
                    [AVERAGE] = {"Avg Draft acceptance rate", "%"}};

typedef struct {
    bool has[FIELDS];
    double value[FIELDS]; /* NaN: not printed, or "nan" */
    int decimals[FIELDS];
    int first;
    int depths;
    double by_depth[SPEC_OBSERVED_DEPTHS];
} counts_line;

/* "0.983, 0.949, 0.915", before the next field or the end. */
static int scan_depths(counts_line *line, spec_log_scan *scan, spec_error *error)
{
    const char *const name = fields[BY_DEPTH].name;
    int status = GSL_SUCCESS, decimals;
    for (;;) {
        if (line->depths == SPEC_OBSERVED_DEPTHS)
            SPEC_TRY(spec_log_bad(scan->record, error, "%s: expected at most %d numbers", name,
                                  SPEC_OBSERVED_DEPTHS));
        double *rate = &line->by_depth[line->depths++];
        SPEC_TRY(scan_real(rate, &decimals, scan, name, error));
        if (line->depths == 1) line->decimals[BY_DEPTH] = decimals;
        if (!isnan(*rate) && (*rate > 1.0 || decimals != line->decimals[BY_DEPTH]))
            SPEC_TRY(
                spec_log_bad(scan->record, error,
                             "%s: expected fractions of %d decimals, not %.*f; the line is cut "
                             "or has another one in it",
                             name, line->decimals[BY_DEPTH], decimals, *rate));
        spec_log_scan next = *scan;
        if (!spec_log_scan_word(&next, ", ")) goto done;
        if (!spec_log_scan_is_digit(*next.at) && !spec_log_scan_word(&next, "nan")) goto done;
        spec_log_scan_word(scan, ", ");
    }
done:
    return status;
}

static int scan_field(counts_line *line, int field, spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    const char *const name = fields[field].name;
    if (line->has[field])
        SPEC_TRY(spec_log_bad(scan->record, error,
                              "%s: occurs twice; two lines were written into each other", name));
    line->has[field] = true;
    if (line->first < 0) line->first = field;
    if (field == BY_DEPTH)
        SPEC_TRY(scan_depths(line, scan, error));
    else if (field == ACCEPTED || field == DRAFTED)
        SPEC_TRY(spec_log_scan_count(&line->value[field], scan, name, error));
    else
        SPEC_TRY(scan_real(&line->value[field], &line->decimals[field], scan, name, error));
    SPEC_TRY(spec_log_scan_expect(scan, fields[field].unit, name, error));
done:
    return status;
}

/* The name of a field and its colon. */
static bool scan_name(spec_log_scan *scan, const char *name)
{
    spec_log_scan next = *scan;
    if (!spec_log_scan_word(&next, name) || next.at[0] != ':' || next.at[1] != ' ') return false;
    scan->at = next.at + 2;
    return true;
}

static int scan_counts(counts_line *line, spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS, field;
    *line = (counts_line){.first = -1};
    for (int i = 0; i < FIELDS; i++) line->value[i] = NAN;
    do {
        for (field = 0; field < FIELDS && !scan_name(scan, fields[field].name);) field++;
        if (field == FIELDS)
            SPEC_TRY(spec_log_bad(scan->record, error,
                                  "SpecDecoding metrics: expected a field such as 'Drafted: 295 "
                                  "tokens', not '%.24s'",
                                  scan->at));
        SPEC_TRY(scan_field(line, field, scan, error));
    } while (spec_log_scan_word(scan, ", "));
    const int missing = !line->has[ACCEPTED]                           ? ACCEPTED
                        : !line->has[DRAFTED]                          ? DRAFTED
                        : line->first == LENGTH && !line->has[AVERAGE] ? AVERAGE
                                                                       : FIELDS;
    if (missing != FIELDS)
        SPEC_TRY(spec_log_bad(scan->record, error,
                              "SpecDecoding metrics: expected '%s: N%s' before the end; the line "
                              "is cut",
                              fields[missing].name, missing == AVERAGE ? "%" : " tokens"));
    /* In JSON, "\n" may follow. */
    if (scan->at < scan->end &&
        (spec_log_scan_is_digit(*scan->at) ||
         (*scan->at >= 'A' && *scan->at <= 'z' && *scan->at != '[' && *scan->at != '\\')))
        SPEC_TRY(spec_log_bad(scan->record, error,
                              "SpecDecoding metrics: expected the end of the line, not '%.24s'",
                              scan->at));
done:
    return status;
}

/* Rounds and passed by depth, from the means. */
static int recover(spec_observation *o, const counts_line *line, const spec_log_record *record,
                   spec_error *error)
{
    spec_rounded_recovery r;
    const spec_rounded_counts printed = {.accepted = (uint64_t)o->accepted,
                                         .drafted = (uint64_t)o->drafted,
                                         .length = line->value[LENGTH],
                                         .length_digits = line->decimals[LENGTH],
                                         .n = line->depths,
                                         .rate = line->by_depth,
                                         .rate_digits = line->decimals[BY_DEPTH]};
    bool numbers = true;
    for (int i = 0; i < line->depths; i++) numbers = numbers && !isnan(line->by_depth[i]);
    if (!numbers || spec_rounded_counts_recover(&r, &printed) != GSL_SUCCESS)
        return spec_log_bad(record, error,
                            "SpecDecoding metrics: no number of rounds agrees with %.0f accepted "
                            "and %.0f drafted tokens and a mean acceptance length of %.*f",
                            o->accepted, o->drafted, line->decimals[LENGTH], line->value[LENGTH]);
    o->rounds = (double)r.rounds;
    o->rounds_low = (double)r.rounds_low;
    o->rounds_high = (double)r.rounds_high;
    o->depths = line->depths;
    for (int i = 0; i < o->depths; i++) o->passed[i] = (double)r.passed[i];
    return GSL_SUCCESS;
}

/* Rounds from the user's K alone. Drafts may be shorter, down to one token. */
static void rounds_from_K(spec_observation *o, int K)
{
    o->K = K;
    if (K < 1) return;
    const double whole = ceil(o->drafted / K);
    o->rounds = o->rounds_low = o->rounds_high = whole;
    if (whole * K != o->drafted) o->rounds_high = o->drafted;
}

int spec_vllm_lines_counts(spec_vllm_counts *ret, spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = scan->record;
    counts_line line;
    spec_observation *o = &ret->observation;
    *o = spec_observation_empty(SPEC_OBSERVED_WINDOW, record->line);
    SPEC_TRY(scan_counts(&line, scan, error));
    const int rate = line.has[AVERAGE] ? AVERAGE : RATE;
    const double *value = line.value, drafted = value[DRAFTED], accepted = value[ACCEPTED];
    /* The printed rate is a percentage. */
    if (accepted > drafted ||
        spec_log_scan_differs(value[rate], line.decimals[rate], 100.0 * accepted / drafted))
        SPEC_TRY(spec_log_bad(record, error,
                              "SpecDecoding metrics: %.0f accepted of %.0f drafted tokens "
                              "contradicts the acceptance rate of %g%%",
                              accepted, drafted, value[rate]));
    o->accepted = accepted;
    o->drafted = drafted;
    o->printed_length = value[LENGTH];
    o->printed_rate = value[rate] / 100.0;
    if (line.depths > 0)
        o->K = line.depths;
    else
        rounds_from_K(o, record->K);
    if (drafted == 0.0) {
        o->rounds = o->rounds_low = o->rounds_high = 0.0;
        o->depths = line.depths;
    } else if (!isnan(value[LENGTH])) {
        SPEC_TRY(recover(o, &line, record, error));
    }
    ret->has_length = line.has[LENGTH];
    ret->has_average = line.has[AVERAGE];
    ret->elapsed = drafted > 0.0 && value[DRAFTED_PER_S] > 0.0 ? drafted / value[DRAFTED_PER_S]
                   : accepted > 0.0 && value[ACCEPTED_PER_S] > 0.0
                       ? accepted / value[ACCEPTED_PER_S]
                       : NAN;
done:
    return status;
}
