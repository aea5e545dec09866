/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/vllm_lines.h"

#include "analysis/acceptance/rounded_counts.h"
#include "experiments/advice/readers/log_fields.h"

#include <math.h>

/* ---- V0: totals since the engine started ----------------------------------------------------- */

/* Accepted tokens of V0 include those after a rejection. */
enum { RATE, EFFICIENCY, K, ACCEPTED, DRAFTED, EMITTED };

static const spec_log_field totals_fields[] = {
    {"Draft acceptance rate: ", NULL, SPEC_LOG_MEAN, true, RATE},
    {"System efficiency: ", NULL, SPEC_LOG_MEAN, true, EFFICIENCY},
    {"Number of speculative tokens: ", NULL, SPEC_LOG_COUNT, true, K},
    {"Number of accepted tokens: ", NULL, SPEC_LOG_COUNT, true, ACCEPTED},
    {"Number of draft tokens: ", NULL, SPEC_LOG_COUNT, true, DRAFTED},
    {"Number of emitted tokens: ", ".", SPEC_LOG_COUNT, true, EMITTED},
    /* early versions */
    {"Number of draft tokens tokens: ", NULL, SPEC_LOG_COUNT, false, DRAFTED},
    {"Number of emitted tokens tokens: ", ".", SPEC_LOG_COUNT, false, EMITTED},
    {0},
};
static const spec_log_line totals = {"Speculative metrics", ", ", totals_fields};

/* The first line of V1 covers only the interval, but has the words of V0. */
static const spec_log_field first_fields[] = {
    {"Draft acceptance rate: ", NULL, SPEC_LOG_MEAN, true, RATE},
    {"Number of accepted tokens: ", NULL, SPEC_LOG_COUNT, true, ACCEPTED},
    {"Number of draft tokens: ", ",", SPEC_LOG_COUNT, true, DRAFTED},
    {0},
};
static const spec_log_line first = {"Speculative metrics", ", ", first_fields};

static int check_totals(const spec_log_numbers *line, const spec_log_record *record,
                        spec_error *error)
{
    const double *v = line->value, rounds = v[DRAFTED] / v[K], most = rounds * (v[K] + 1.0);
    if (v[K] < 1.0 || v[K] > SPEC_OBSERVED_DEPTHS)
        return spec_log_bad(record, error,
                            "Number of speculative tokens: expected 1 to %d, not %.0f",
                            SPEC_OBSERVED_DEPTHS, v[K]);
    if (rounds != floor(rounds))
        return spec_log_bad(record, error,
                            "Number of draft tokens: expected a multiple of the %.0f tokens of a "
                            "round, not %.0f",
                            v[K], v[DRAFTED]);
    if (v[ACCEPTED] > v[DRAFTED] ||
        spec_log_scan_differs(v[RATE], line->decimals[RATE], v[ACCEPTED] / v[DRAFTED]))
        return spec_log_bad(record, error,
                            "Number of accepted tokens: %.0f of %.0f contradicts the acceptance "
                            "rate of %g",
                            v[ACCEPTED], v[DRAFTED], v[RATE]);
    if (v[EMITTED] < rounds || v[EMITTED] > most ||
        spec_log_scan_differs(v[EFFICIENCY], line->decimals[EFFICIENCY], v[EMITTED] / most))
        return spec_log_bad(record, error,
                            "Number of emitted tokens: %.0f of %.0f rounds contradicts K = %.0f "
                            "or the system efficiency of %g",
                            v[EMITTED], rounds, v[K], v[EFFICIENCY]);
    return GSL_SUCCESS;
}

int spec_vllm_lines_totals(spec_observation *o, spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_log_numbers line;
    *o = spec_observation_empty(SPEC_OBSERVED_TOTAL, scan->record->line);
    SPEC_TRY(spec_log_fields_read(&line, &totals, scan, error));
    SPEC_TRY(check_totals(&line, scan->record, error));
    o->K = (int)line.value[K];
    o->drafted = line.value[DRAFTED];
    o->emitted = line.value[EMITTED];
    o->printed_rate = line.value[RATE];
    o->rounds = o->rounds_low = o->rounds_high = o->passes = o->drafted / o->K;
    o->accepted = o->emitted - o->rounds; /* a round emits one token more than it accepts */
done:
    return status;
}

/* ---- V1: counts of an interval --------------------------------------------------------------- */

enum { LENGTH = EMITTED + 1, ACCEPTED_PER_S, DRAFTED_PER_S, AVERAGE };

static const spec_log_field counts_fields[] = {
    {"Draft acceptance rate: ", "%", SPEC_LOG_MEAN, false, RATE},
    {"Mean acceptance length: ", NULL, SPEC_LOG_MEAN, false, LENGTH},
    {"Accepted throughput: ", "tokens/s", SPEC_LOG_REAL, false, ACCEPTED_PER_S},
    {"Drafted throughput: ", "tokens/s", SPEC_LOG_REAL, false, DRAFTED_PER_S},
    {"Accepted: ", "tokens", SPEC_LOG_COUNT, true, ACCEPTED},
    {"Drafted: ", "tokens", SPEC_LOG_COUNT, true, DRAFTED},
    {"Per-position acceptance rate: ", NULL, SPEC_LOG_RATES, false, 0},
    {"Avg Draft acceptance rate: ", "%", SPEC_LOG_MEAN, false, AVERAGE},
    {0},
};
static const spec_log_line counts = {"SpecDecoding metrics", ", ", counts_fields};

/* Recovers rounds and passed by depth from the means. */
static int recover(spec_observation *o, const spec_log_numbers *line, const spec_log_record *record,
                   spec_error *error)
{
    spec_rounded_recovery r;
    const spec_rounded_counts printed = {.accepted = (uint64_t)o->accepted,
                                         .drafted = (uint64_t)o->drafted,
                                         .length = line->value[LENGTH],
                                         .length_digits = line->decimals[LENGTH],
                                         .n = line->n,
                                         .rate = line->list,
                                         .rate_digits = line->list_decimals};
    bool numbers = true;
    for (int i = 0; i < line->n; i++) numbers = numbers && !isnan(line->list[i]);
    if (!numbers || spec_rounded_counts_recover(&r, &printed) != GSL_SUCCESS)
        return spec_log_bad(record, error,
                            "SpecDecoding metrics: no number of rounds agrees with %.0f accepted "
                            "and %.0f drafted tokens and a mean acceptance length of %.*f",
                            o->accepted, o->drafted, line->decimals[LENGTH], line->value[LENGTH]);
    o->rounds = (double)r.rounds;
    o->rounds_low = (double)r.rounds_low;
    o->rounds_high = (double)r.rounds_high;
    o->depths = line->n;
    for (int i = 0; i < o->depths; i++) o->passed[i] = (double)r.passed[i];
    return GSL_SUCCESS;
}

/* Estimates rounds from the user's K alone. Drafts may be shorter, down to one token. */
static void rounds_from_K(spec_observation *o, int given)
{
    o->K = given;
    if (given < 1) return;
    const double whole = ceil(o->drafted / given);
    o->rounds = o->rounds_low = o->rounds_high = whole;
    if (whole * given != o->drafted) o->rounds_high = o->drafted;
}

static int check_counts(const spec_log_numbers *line, const spec_log_line *form,
                        const spec_log_record *record, spec_error *error)
{
    const bool percent = form == &counts, average = spec_log_numbers_has(line, AVERAGE);
    const int rate = average ? AVERAGE : RATE;
    const double *v = line->value, unit = percent ? 100.0 : 1.0;
    if (spec_log_numbers_has(line, LENGTH) && !average && !spec_log_numbers_has(line, RATE))
        return spec_log_bad(record, error,
                            "%s: expected 'Avg Draft acceptance rate: ' before the end; the line "
                            "is truncated",
                            form->name);
    if (v[ACCEPTED] > v[DRAFTED] ||
        spec_log_scan_differs(v[rate], line->decimals[rate], unit * v[ACCEPTED] / v[DRAFTED]))
        return spec_log_bad(record, error,
                            "%s: %.0f accepted of %.0f drafted tokens contradicts the acceptance "
                            "rate of %g%s",
                            form->name, v[ACCEPTED], v[DRAFTED], v[rate], percent ? "%" : "");
    return GSL_SUCCESS;
}

int spec_vllm_lines_counts(spec_vllm_counts *ret, bool words_of_v0, spec_log_scan *scan,
                           spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_line *const form = words_of_v0 ? &first : &counts;
    spec_log_numbers line;
    spec_observation *o = &ret->observation;
    *o = spec_observation_empty(SPEC_OBSERVED_WINDOW, scan->record->line);
    SPEC_TRY(spec_log_fields_read(&line, form, scan, error));
    SPEC_TRY(check_counts(&line, form, scan->record, error));
    const double *v = line.value;
    ret->has_length = spec_log_numbers_has(&line, LENGTH);
    ret->has_average = spec_log_numbers_has(&line, AVERAGE);
    o->accepted = v[ACCEPTED];
    o->drafted = v[DRAFTED];
    o->printed_length = v[LENGTH];
    o->printed_rate = ret->has_average  ? v[AVERAGE] / 100.0
                      : form == &counts ? v[RATE] / 100.0
                                        : v[RATE];
    if (line.n > 0)
        o->K = line.n;
    else
        rounds_from_K(o, scan->record->K);
    if (o->drafted == 0.0) {
        o->rounds = o->rounds_low = o->rounds_high = 0.0;
        o->depths = line.n;
    } else if (!isnan(v[LENGTH])) {
        SPEC_TRY(recover(o, &line, scan->record, error));
    }
    ret->elapsed = o->drafted > 0.0 && v[DRAFTED_PER_S] > 0.0     ? o->drafted / v[DRAFTED_PER_S]
                   : o->accepted > 0.0 && v[ACCEPTED_PER_S] > 0.0 ? o->accepted / v[ACCEPTED_PER_S]
                                                                  : NAN;
done:
    return status;
}
