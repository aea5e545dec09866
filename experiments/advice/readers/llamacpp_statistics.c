/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/llamacpp_statistics.h"

#include "analysis/acceptance/rounded_counts.h"
#include "experiments/advice/readers/log_scan.h"

#include <string.h>

static const char calls[] = "#calls(b,g,a) =";

bool spec_llamacpp_statistics_concerns(const char *bytes, size_t n)
{
    return spec_log_find(bytes, n, calls) != NULL;
}

void spec_llamacpp_statistics_restart(spec_llamacpp_statistics *statistics)
{
    for (int i = 0; i < statistics->n; i++) statistics->way[i].draft_seconds = 0.0;
}

/* A line's numbers. */
typedef struct {
    double begun, accept_calls, drafts, accepted_drafts, drafted, accepted;
    double length, draft_ms; /* NaN: not printed */
    double rate[SPEC_OBSERVED_DEPTHS];
    int n_rates, decimals, length_decimals;
} line_numbers;

static int count_of(double *ret, spec_log_scan scan, const char *key, spec_error *error)
{
    if (!spec_log_scan_find(&scan, key))
        return spec_log_bad(scan.record, error, "expected '%s' in the statistics", key);
    return spec_log_scan_count(ret, &scan, key, error);
}

static int parse(line_numbers *ret, spec_log_scan scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    double generate_calls, begin_ms;
    *ret = (line_numbers){.length = NAN, .draft_ms = NAN};
    SPEC_TRY(spec_log_scan_count(&ret->begun, &scan, "#calls(b,g,a)", error));
    SPEC_TRY(spec_log_scan_count(&generate_calls, &scan, "#calls(b,g,a)", error));
    SPEC_TRY(spec_log_scan_count(&ret->accept_calls, &scan, "#calls(b,g,a)", error));
    SPEC_TRY(count_of(&ret->drafts, scan, "#gen drafts =", error));
    SPEC_TRY(count_of(&ret->accepted_drafts, scan, "#acc drafts =", error));
    SPEC_TRY(count_of(&ret->drafted, scan, "#gen tokens =", error));
    SPEC_TRY(count_of(&ret->accepted, scan, "#acc tokens =", error));
    spec_log_scan at = scan;
    if (spec_log_scan_find(&at, "#mean acc len ="))
        SPEC_TRY(
            spec_log_scan_real(&ret->length, &ret->length_decimals, &at, "#mean acc len", error));
    at = scan;
    if (spec_log_scan_find(&at, "#acc rate/pos ="))
        SPEC_TRY(spec_log_scan_rates(ret->rate, &ret->n_rates, &ret->decimals, &at, "#acc rate/pos",
                                     error));
    at = scan;
    if (spec_log_scan_find(&at, "dur(b,g,a) =")) {
        SPEC_TRY(spec_log_scan_real(&begin_ms, NULL, &at, "dur(b,g,a)", error));
        SPEC_TRY(spec_log_scan_expect(&at, ",", "dur(b,g,a)", error));
        SPEC_TRY(spec_log_scan_real(&ret->draft_ms, NULL, &at, "dur(b,g,a)", error));
    }
    if (spec_log_scan_find(&scan, calls))
        status = spec_log_bad(scan.record, error, "expected one record on a line, not two");
    else if (ret->accepted > ret->drafted)
        status = spec_log_bad(scan.record, error,
                              "#acc tokens: expected at most the %.0f of #gen tokens, not %.0f",
                              ret->drafted, ret->accepted);
    else if (ret->accepted_drafts > ret->drafts || ret->accepted_drafts > ret->accepted)
        status = spec_log_bad(
            scan.record, error,
            "#acc drafts: expected at most the %.0f of #gen drafts and the %.0f of #acc tokens",
            ret->drafts, ret->accepted);
    else if (ret->accept_calls > 0.0 &&
             fabs(ret->length - 1.0 - ret->accepted / ret->accept_calls) >
                 spec_log_scan_half_unit(ret->length_decimals) + 1e-9)
        status = spec_log_bad(scan.record, error,
                              "#mean acc len: expected %.2f, 1 + #acc tokens over #calls, not %g",
                              1.0 + ret->accepted / ret->accept_calls, ret->length);
done:
    return status;
}

/* Rates by depth are of the calls to accept. Drafts with an accepted token are those of depth 1;
 * the deeper ones are the whole numbers that agree with the rates and sum to the rest. */
static int recover(spec_observation *o, const line_numbers *line, const spec_log_record *record,
                   spec_error *error)
{
    const double half = spec_log_scan_half_unit(line->decimals), rounds = line->accept_calls;
    const double deeper = line->accepted - line->accepted_drafts;
    spec_rounded_recovery recovery = {0};
    o->rounds = line->n_rates > 0 ? rounds : line->drafts;
    o->rounds_low = o->rounds_high = o->rounds;
    if (line->n_rates == 0) return GSL_SUCCESS;
    const double first = line->accepted_drafts / rounds; /* NaN without rounds */
    if (rounds > 0.0 && !(fabs(first - line->rate[0]) <= half + 1e-9))
        return spec_log_bad(record, error,
                            "#acc rate/pos: expected %.3f at depth 1, #acc drafts over #calls, "
                            "not %.3f",
                            first, line->rate[0]);
    const spec_rounded_counts printed = {
        .accepted = (uint64_t)deeper,
        .length = 1.0 + deeper / rounds, /* the rounds are known: many digits name them */
        .length_digits = 12,
        .n = line->n_rates - 1,
        .rate = line->rate + 1,
        .rate_digits = line->decimals};
    if (deeper > 0.0 && rounds > 0.0 && line->n_rates > 1 &&
        spec_rounded_counts_recover(&recovery, &printed) != GSL_SUCCESS)
        return spec_log_bad(record, error,
                            "#acc rate/pos: expected rates that sum to %.0f of #acc tokens",
                            line->accepted);
    o->depths = line->n_rates;
    o->passed[0] = line->accepted_drafts;
    for (int i = 1; i < o->depths; i++) o->passed[i] = (double)recovery.passed[i - 1];
    return GSL_SUCCESS;
}

static spec_llamacpp_way *find_way(spec_llamacpp_statistics *statistics, uint64_t label)
{
    for (int i = 0; i < statistics->n; i++)
        if (statistics->way[i].label == label) return &statistics->way[i];
    if (statistics->n == SPEC_LLAMACPP_WAYS) return NULL;
    spec_llamacpp_way *way = &statistics->way[statistics->n++];
    *way = (spec_llamacpp_way){.label = label, .draft_seconds = NAN};
    return way;
}

/* Hash of the name that ends before these bytes: "draft-mtp" of "statistics draft-mtp: ". */
static uint64_t label_of(const spec_log_record *record, const char *behind)
{
    const char *end = behind, *begin;
    while (end > record->bytes && (end[-1] == ' ' || end[-1] == ':')) end--;
    for (begin = end; begin > record->bytes && begin[-1] != ' '; begin--) continue;
    return spec_log_label(begin, (size_t)(end - begin));
}

static int hand_over(spec_llamacpp_way *way, const spec_log_record *record,
                     const spec_observation *opt_second, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (way->waits) SPEC_TRY(record->observer->take(record->observer->self, &way->first, error));
    way->waits = false;
    if (opt_second != NULL)
        SPEC_TRY(record->observer->take(record->observer->self, opt_second, error));
done:
    return status;
}

int spec_llamacpp_statistics_read(spec_llamacpp_statistics *statistics, double *ret_draft_seconds,
                                  spec_log_learned *learned, const spec_log_record *record,
                                  spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_log_scan scan = spec_log_scan_of(record);
    spec_observation total = spec_observation_empty(SPEC_OBSERVED_TOTAL, record->line);
    line_numbers line;
    *ret_draft_seconds = NAN;
    spec_log_scan_find(&scan, calls);
    total.label = label_of(record, scan.at - strlen(calls));
    SPEC_TRY(parse(&line, scan, error));
    spec_llamacpp_way *way = find_way(statistics, total.label);
    if (way == NULL) {
        status =
            spec_log_bad(record, error, "expected at most %d ways to draft", SPEC_LLAMACPP_WAYS);
        goto done;
    }
    const bool second = way->seen;
    way->seen = true;
    const double before = isnan(way->draft_seconds) && line.begun <= 1.0 ? 0.0 : way->draft_seconds;
    const double now = line.draft_ms / 1000.0;
    *ret_draft_seconds = now < before ? now : now - before; /* smaller: another server */
    way->draft_seconds = now;
    if (statistics->requests) goto done;
    SPEC_TRY(recover(&total, &line, record, error));
    total.K = record->K;
    total.drafted = line.drafted;
    total.accepted = line.accepted;
    total.draft_seconds = now;
    total.printed_length = line.length;
    learned->gaps = SPEC_LOG_NO_TIMES | (total.depths == 0 ? SPEC_LOG_NO_DEPTHS : 0);
    if (second) {
        SPEC_TRY(hand_over(way, record, &total, error));
    } else {
        way->first = total;
        way->waits = true;
    }
done:
    return status;
}

int spec_llamacpp_statistics_end(spec_llamacpp_statistics *statistics, const spec_log_record *last,
                                 spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int i = 0; i < statistics->n && !statistics->requests; i++)
        SPEC_TRY(hand_over(&statistics->way[i], last, NULL, error));
done:
    return status;
}
