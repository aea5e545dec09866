/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/sglang_finish.h"

#include "experiments/advice/readers/log_fields.h"

#include <string.h>

static const char verify[] = "'spec_verify_ct': ";
static const char unfinished[] = "'finish_reason': None";

enum { ROUNDS, TOKENS, SECONDS, ACCEPTED, DRAFTED, LENGTH, RATE };
static const spec_log_field fields[] = {
    {verify, NULL, SPEC_LOG_COUNT, true, ROUNDS},
    {"'completion_tokens': ", NULL, SPEC_LOG_COUNT, false, TOKENS},
    {"'e2e_latency': ", NULL, SPEC_LOG_MEAN, false, SECONDS},
    {"'spec_num_correct_drafts': ", NULL, SPEC_LOG_COUNT, false, ACCEPTED},
    {"'spec_accepted_drafts': ", NULL, SPEC_LOG_COUNT, false, ACCEPTED},
    {"'spec_accept_token_num': ", NULL, SPEC_LOG_COUNT, false, ACCEPTED}, /* 2025 */
    {"'spec_num_proposed_drafts': ", NULL, SPEC_LOG_COUNT, false, DRAFTED},
    {"'spec_proposed_drafts': ", NULL, SPEC_LOG_COUNT, false, DRAFTED},
    {"'spec_draft_token_num': ", NULL, SPEC_LOG_COUNT, false, DRAFTED}, /* 2025 */
    {"'spec_correct_drafts_histogram': [", "]", SPEC_LOG_COUNTS, false, 0},
    {"'spec_accept_histogram': [", "]", SPEC_LOG_COUNTS, false, 0},
    {"'spec_acceptance_histogram': [", "]", SPEC_LOG_COUNTS, false, 0},
    {"'spec_accept_length': ", NULL, SPEC_LOG_MEAN, false, LENGTH},
    {"'spec_accept_rate': ", NULL, SPEC_LOG_MEAN, false, RATE},
    {0},
};
static const spec_log_line form = {"meta_info", NULL, fields};

bool spec_sglang_finish_concerns(const char *bytes, size_t n)
{
    return spec_log_find(bytes, n, verify) != NULL;
}

/* Returns the part of the scan between the braces around `place`. */
static spec_log_scan braces(const spec_log_scan *scan, const char *place)
{
    spec_log_scan inner = *scan;
    int depth = 0;
    const char *at = place;
    while (at > scan->at && depth <= 0) {
        at--;
        if (*at == '{') depth++;
        if (*at == '}') depth--;
    }
    inner.at = at;
    for (at = place, depth = 1; at < scan->end && depth > 0; at++) {
        if (*at == '{') depth++;
        if (*at == '}') depth--;
    }
    inner.end = at;
    return inner;
}

/* Takes the histogram: [i] counts rounds that accepted i draft tokens. */
static int take_histogram(spec_observation *o, const spec_log_numbers *line,
                          const spec_log_record *record, spec_error *error)
{
    double rounds = 0.0, accepted = 0.0, reach = 0.0;
    for (int i = 0; i < line->n; i++) {
        rounds += line->list[i];
        accepted += i * line->list[i];
    }
    if (line->n == 0) return GSL_SUCCESS;
    if (rounds != o->rounds || accepted != o->accepted)
        return spec_log_bad(record, error,
                            "the histogram has %.0f rounds with %.0f accepted tokens, the counts "
                            "%.0f with %.0f",
                            rounds, accepted, o->rounds, o->accepted);
    o->depths = line->n - 1;
    for (int i = o->depths; i > 0; i--) o->passed[i - 1] = reach += line->list[i];
    return GSL_SUCCESS;
}

/* Takes the width: drafted tokens are computed as rounds times the width at the end. A round that
 * accepted more shows that this is wrong. */
static void take_width(spec_observation *o)
{
    const double width = o->drafted / o->rounds, least = fmax(o->depths, o->accepted / o->rounds);
    if (width < least) o->drafted = NAN;
    if (!(width >= least && width == floor(width) && width <= SPEC_OBSERVED_DEPTHS)) return;
    o->K = (int)width;
    if (o->depths > 0) o->depths = o->K; /* the rest of passed is 0 */
}

static int counts_of(spec_observation *o, const spec_log_numbers *line,
                     const spec_log_record *record, spec_error *error)
{
    const double *v = line->value;
    o->emitted = v[TOKENS];
    o->seconds = v[SECONDS];
    o->printed_length = v[LENGTH];
    o->printed_rate = v[RATE];
    if (v[ROUNDS] == 0.0) {
        spec_observation_decode_plainly(o, v[TOKENS]);
        return GSL_SUCCESS;
    }
    o->rounds = o->rounds_low = o->rounds_high = v[ROUNDS];
    o->drafted = v[DRAFTED];
    o->accepted = v[ACCEPTED];
    /* Each round emits one more token than it accepts, and the prefill adds the first. */
    if (isnan(o->accepted) && line->n == 0) o->accepted = fmax(v[TOKENS] - 1.0 - o->rounds, 0.0);
    for (int i = 0; isnan(v[ACCEPTED]) && i < line->n; i++)
        o->accepted = fmax(o->accepted, 0.0) + i * line->list[i];
    if (o->accepted > o->drafted)
        return spec_log_bad(record, error, "meta_info: %.0f accepted of %.0f proposed drafts",
                            o->accepted, o->drafted);
    const int status = take_histogram(o, line, record, error);
    take_width(o);
    if (o->K < 0) o->K = record->K;
    return status;
}

int spec_sglang_finish_next(spec_observation *ret, bool *ret_found, spec_log_scan *scan,
                            spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_log_scan inner;
    spec_log_numbers line;
    *ret_found = false;
    *ret = spec_observation_empty(SPEC_OBSERVED_REQUEST, scan->record->line);
    do {
        const char *place = spec_log_find(scan->at, (size_t)(scan->end - scan->at), verify);
        if (place == NULL) goto done;
        inner = braces(scan, place);
        scan->at = inner.end;
    } while (spec_log_find(inner.at, (size_t)(inner.end - inner.at), unfinished) != NULL);
    SPEC_TRY(spec_log_fields_read(&line, &form, &inner, error));
    SPEC_TRY(counts_of(ret, &line, scan->record, error));
    *ret_found = true;
done:
    return status;
}
