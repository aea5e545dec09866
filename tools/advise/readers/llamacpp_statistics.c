/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/llamacpp_statistics.h"

#include "analysis/acceptance/rounded_counts.h"
#include "tools/advise/readers/log_fields.h"

#include <string.h>

/* Drafts are cut at the end of an output, so their mean length may be a little below K. */
static const double CUT = 0.05;

enum { BEGUN, GENERATE, ACCEPT, DRAFTS, FIRSTS, DRAFTED, ACCEPTED, LENGTH };
static const spec_log_field fields[] = {
    {"#calls(b,g,a) =", NULL, SPEC_LOG_COUNT, false, BEGUN},
    {NULL, NULL, SPEC_LOG_COUNT, false, GENERATE},
    {NULL, NULL, SPEC_LOG_COUNT, false, ACCEPT},
    {"#gen drafts =", NULL, SPEC_LOG_COUNT, true, DRAFTS},
    {"#acc drafts =", NULL, SPEC_LOG_COUNT, true, FIRSTS},
    {"#gen tokens =", NULL, SPEC_LOG_COUNT, true, DRAFTED},
    {"#acc tokens =", NULL, SPEC_LOG_COUNT, true, ACCEPTED},
    {"#mean acc len =", NULL, SPEC_LOG_REAL, false, LENGTH},
    {"#acc rate/pos = (", ")", SPEC_LOG_RATES, false, 0},
    {0},
};
static const spec_log_line form = {"statistics", NULL, fields};

bool spec_llamacpp_statistics_concerns(const char *bytes, size_t n)
{
    return spec_log_find(bytes, n, "#gen drafts =") != NULL;
}

void spec_llamacpp_statistics_restart(spec_llamacpp_statistics *statistics)
{
    for (int i = 0; i < statistics->n; i++) {
        spec_observation *total = &statistics->way[i].total;
        *total = spec_observation_empty(SPEC_OBSERVED_TOTAL, total->line);
        total->rounds = total->drafted = total->accepted = 0.0;
    }
}

static int check(const spec_log_numbers *line, const spec_log_record *record, spec_error *error)
{
    const double *v = line->value, length = 1.0 + v[ACCEPTED] / v[ACCEPT];
    if (v[ACCEPTED] > v[DRAFTED])
        return spec_log_bad(record, error,
                            "#acc tokens: expected at most the %.0f of #gen tokens, not %.0f",
                            v[DRAFTED], v[ACCEPTED]);
    if (v[FIRSTS] > v[DRAFTS] || v[FIRSTS] > v[ACCEPTED])
        return spec_log_bad(
            record, error,
            "#acc drafts: expected at most the %.0f of #gen drafts and the %.0f of #acc tokens",
            v[DRAFTS], v[ACCEPTED]);
    if (v[ACCEPT] > 0.0 && spec_log_scan_differs(v[LENGTH], line->decimals[LENGTH], length))
        return spec_log_bad(record, error,
                            "#mean acc len: expected %.2f, 1 + #acc tokens over #calls, not %g",
                            length, v[LENGTH]);
    return GSL_SUCCESS;
}

/* Recovers the counts by depth. Rates by depth are shares of the calls to accept. For depth 1, the
 * line counts the drafts with an accepted token. The counts of deeper depths are the whole numbers
 * that agree with the rates and sum to the rest. */
static int recover(spec_observation *o, const spec_log_numbers *line, const spec_log_record *record,
                   spec_error *error)
{
    const double *v = line->value, half = spec_log_scan_half_unit(line->list_decimals);
    const double deeper = v[ACCEPTED] - v[FIRSTS], rounds = v[ACCEPT];
    spec_rounded_recovery recovery = {0};
    o->rounds = o->rounds_low = o->rounds_high = line->n > 0 ? rounds : v[DRAFTS];
    o->passed[0] = v[FIRSTS];
    o->passed[1] = deeper;
    /* Without rates we still know up to two depths. Knowing only some of the depths would not
     * help. */
    o->depths = line->n > 0 ? line->n : o->K == 1 || o->K == 2 ? o->K : 0;
    if (line->n == 0) return GSL_SUCCESS;
    const double first = v[FIRSTS] / rounds; /* NaN without rounds */
    if (rounds > 0.0 && !(fabs(first - line->list[0]) <= half + 1e-9))
        return spec_log_bad(record, error,
                            "#acc rate/pos: expected %.3f at depth 1, #acc drafts over #calls, "
                            "not %.3f",
                            first, line->list[0]);
    const spec_rounded_counts printed = {
        .accepted = (uint64_t)deeper,
        /* the rounds are known, so we pretend that many digits were printed */
        .length = 1.0 + deeper / rounds,
        .length_digits = 12,
        .n = line->n - 1,
        .rate = line->list + 1,
        .rate_digits = line->list_decimals};
    if (deeper > 0.0 && rounds > 0.0 && line->n > 1 &&
        spec_rounded_counts_recover(&recovery, &printed) != GSL_SUCCESS)
        return spec_log_bad(record, error,
                            "#acc rate/pos: expected rates that sum to %.0f of #acc tokens",
                            v[ACCEPTED]);
    for (int i = 1; i < o->depths; i++) o->passed[i] = (double)recovery.passed[i - 1];
    return GSL_SUCCESS;
}

/* Returns the draft length of a method, from the number of its rates, or from the tokens in its
 * drafts; -1 if it is not known. */
static int draft_length(const spec_log_numbers *line, int rates)
{
    const double mean = line->value[DRAFTED] / line->value[DRAFTS], K = ceil(mean - 1e-9);
    if (rates > 0) return rates;
    return K >= 1.0 && K <= SPEC_OBSERVED_DEPTHS && mean >= (1.0 - CUT) * K ? (int)K : -1;
}

static spec_llamacpp_way *find_way(spec_llamacpp_statistics *statistics, uint64_t label)
{
    for (int i = 0; i < statistics->n; i++)
        if (statistics->way[i].label == label) return &statistics->way[i];
    if (statistics->n == SPEC_LLAMACPP_WAYS) return NULL;
    spec_llamacpp_way *way = &statistics->way[statistics->n++];
    *way = (spec_llamacpp_way){.label = label,
                               .total = spec_observation_empty(SPEC_OBSERVED_TOTAL, 0)};
    return way;
}

/* Returns the hash of the name in front of the numbers: "draft-mtp" in "statistics draft-mtp:
 * #calls". */
static uint64_t label_of(const spec_log_record *record)
{
    const char *end = memchr(record->bytes, '#', record->n), *begin;
    while (end > record->bytes && (end[-1] == ' ' || end[-1] == ':')) end--;
    for (begin = end; begin > record->bytes && begin[-1] != ' '; begin--) continue;
    return spec_log_label(begin, (size_t)(end - begin));
}

/* Returns the counts since the previous line. If a count has fallen, the server was restarted. */
static spec_observation since(const spec_observation *from, const spec_observation *to,
                              bool from_start)
{
    spec_observation o = *to;
    const bool falls =
        to->rounds < from->rounds || to->drafted < from->drafted || to->accepted < from->accepted;
    o.kind = SPEC_OBSERVED_REQUEST;
    if (falls || (from_start && isnan(from->rounds))) return o;
    o.rounds = o.rounds_low = o.rounds_high = to->rounds - from->rounds;
    o.drafted -= from->drafted;
    o.accepted -= from->accepted;
    for (int i = 0; i < o.depths; i++)
        o.passed[i] = fmax(o.passed[i] - (i < from->depths ? from->passed[i] : 0.0), 0.0);
    return o;
}

static int hand_over(spec_llamacpp_way *way, const spec_log_record *record,
                     const spec_observation *opt_second, spec_error *error)
{
    if (way->waits) SPEC_PASS(spec_log_hand_over(record, &way->first, error));
    way->waits = false;
    return opt_second != NULL ? spec_log_hand_over(record, opt_second, error) : GSL_SUCCESS;
}

int spec_llamacpp_statistics_read(spec_llamacpp_statistics *statistics, spec_log_learned *learned,
                                  const spec_log_record *record, spec_error *error)
{
    spec_log_scan scan = spec_log_scan_of(record);
    spec_observation total = spec_observation_empty(SPEC_OBSERVED_TOTAL, record->line);
    spec_log_numbers line;
    total.label = label_of(record);
    SPEC_PASS(spec_log_fields_read(&line, &form, &scan, error));
    SPEC_PASS(check(&line, record, error));
    total.K = draft_length(&line, line.n);
    if (total.K < 0) total.K = record->K;
    SPEC_PASS(recover(&total, &line, record, error));
    total.drafted = line.value[DRAFTED];
    total.accepted = line.value[ACCEPTED];
    total.printed_length = line.value[LENGTH];
    spec_llamacpp_way *way = find_way(statistics, total.label);
    if (way == NULL)
        return spec_log_bad(record, error, "expected at most %d ways to draft", SPEC_LLAMACPP_WAYS);
    const bool second = way->seen;
    way->since = since(&way->total, &total, line.value[BEGUN] <= 1.0);
    way->total = total;
    way->seen = way->of_request = true;
    if (statistics->requests) return GSL_SUCCESS;
    learned->gaps = SPEC_LOG_NO_TIMES | (total.depths == 0 ? (unsigned)SPEC_LOG_NO_DEPTHS : 0);
    if (second) {
        SPEC_PASS(hand_over(way, record, &total, error));
    } else {
        way->first = total;
        way->waits = true;
    }
    return GSL_SUCCESS;
}

void spec_llamacpp_statistics_request(spec_llamacpp_request *ret,
                                      spec_llamacpp_statistics *statistics, double drafted,
                                      double accepted)
{
    double sum_drafted = 0.0, sum_accepted = 0.0;
    ret->n = 0;
    for (int i = 0; i < statistics->n; i++) {
        spec_llamacpp_way *way = &statistics->way[i];
        const spec_observation *part = &way->since;
        if (!way->of_request) continue;
        way->of_request = false;
        sum_drafted += part->drafted;
        sum_accepted += part->accepted;
        if (!(part->drafted > 0.0)) continue;
        ret->of_way[ret->n] = *part;
        if (statistics->n == 1) ret->of_way[ret->n].label = 0;
        ret->n++;
    }
    if (!(sum_drafted == drafted && sum_accepted == accepted)) ret->n = 0;
}

int spec_llamacpp_statistics_end(spec_llamacpp_statistics *statistics, const spec_log_record *last,
                                 spec_error *error)
{
    for (int i = 0; i < statistics->n && !statistics->requests; i++)
        SPEC_PASS(hand_over(&statistics->way[i], last, NULL, error));
    return GSL_SUCCESS;
}
