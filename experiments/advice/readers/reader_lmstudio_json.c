/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/readers.h"
#include "experiments/advice/readers/request_counts.h"

/* Names in LM Studio's SDKs and conversations, and in its REST interface. */
enum { TOTAL, ACCEPTED, REJECTED, IGNORED, PREDICTED, SPEED, NAMES };
static const char *const camel[NAMES] = {"totalDraftTokensCount",    "acceptedDraftTokensCount",
                                         "rejectedDraftTokensCount", "ignoredDraftTokensCount",
                                         "predictedTokensCount",     "tokensPerSecond"};
static const char *const snake[NAMES] = {
    "total_draft_tokens_count",   "accepted_draft_tokens_count", "rejected_draft_tokens_count",
    "ignored_draft_tokens_count", "predicted_tokens_count",      "tokens_per_second"};

static bool is_camel(const char *bytes, size_t n)
{
    return spec_json_part_has(bytes, n, camel[TOTAL]) ||
           (spec_json_part_has(bytes, n, camel[PREDICTED]) &&
            spec_json_part_has(bytes, n, camel[SPEED]));
}

static bool concerns(const char *bytes, size_t n)
{
    return is_camel(bytes, n) || spec_json_part_has(bytes, n, snake[TOTAL]) ||
           (spec_json_part_has(bytes, n, snake[SPEED]) &&
            spec_json_part_has(bytes, n, "generation_time"));
}

/* Members of the object; `usage` and `stats` of a response share them, so that what is absent is
 * looked for in the response. */
static int find_members(spec_json_member m[NAMES + 1], const char *const names[NAMES],
                        const spec_json_place *place, spec_error *error)
{
    for (int i = 0; i < NAMES; i++) m[i] = (spec_json_member){.key = names[i]};
    m[NAMES] = (spec_json_member){0};
    const int status = spec_json_member_find(m, place->object, place->record, error);
    if (status != GSL_SUCCESS) return status;
    for (int i = 0; i < NAMES; i++) spec_json_member_search(&m[i], place);
    if (m[PREDICTED].value.bytes == NULL) {
        m[PREDICTED].key = "completion_tokens";
        spec_json_member_search(&m[PREDICTED], place);
    }
    return GSL_SUCCESS;
}

static int take(const spec_json_place *place, const char *const names[NAMES], spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = place->record;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    double rejected, ignored, speed;
    spec_json_member m[NAMES + 1];
    SPEC_TRY(find_members(m, names, place, error));
    const spec_request_counts counts = {
        .accepted = m[ACCEPTED], .drafted = m[TOTAL], .emitted = m[PREDICTED]};
    SPEC_TRY(spec_request_counts_read(&o, &counts, record, error));
    SPEC_TRY(spec_json_member_count(&rejected, &m[REJECTED], record, error));
    SPEC_TRY(spec_json_member_count(&ignored, &m[IGNORED], record, error));
    SPEC_TRY(spec_json_member_real(&speed, &m[SPEED], record, error));
    const double known =
        o.accepted + (isnan(rejected) ? 0 : rejected) + (isnan(ignored) ? 0 : ignored);
    if (known > o.drafted)
        SPEC_TRY(spec_log_bad(record, error,
                              "accepted, rejected and ignored draft tokens are %.0f, '%s' is %.0f",
                              known, m[TOTAL].key, o.drafted));
    if (speed > 0.0) o.seconds = o.emitted / speed;
    SPEC_TRY(spec_request_counts_hand_over(&o, &counts, place, error));
done:
    return status;
}

static int take_camel(const spec_json_place *place, spec_error *error)
{
    return take(place, camel, error);
}

static int take_snake(const spec_json_place *place, spec_error *error)
{
    return take(place, snake, error);
}

static int read_record(void *state, spec_log_learned *learned, const spec_log_record *record,
                       spec_error *error)
{
    (void)state;
    const char *bytes = record->bytes;
    if (is_camel(bytes, record->n)) {
        const bool tokens = spec_json_part_has(bytes, record->n, camel[PREDICTED]);
        return spec_json_part_each(record, learned, camel[tokens ? PREDICTED : TOTAL], take_camel,
                                   error);
    }
    /* Not each response drafts, but each has a speed. */
    const bool speed = spec_json_part_has(bytes, record->n, snake[SPEED]);
    return spec_json_part_each(record, learned, snake[speed ? SPEED : TOTAL], take_snake, error);
}

const spec_log_format spec_reader_lmstudio_response = {
    .name = "lm-studio-response",
    .engine = "lm-studio",
    .summary = "stats of LM Studio's responses and conversations",
    .generations = (const char *const[]){"draft token counts since 0.3.10", NULL},
    .concerns = concerns,
    .needles = (const char *const[]){"\"totalDraftTokensCount\"", "\"predictedTokensCount\"",
                                     "\"total_draft_tokens_count\"", "\"generation_time\"", NULL},
    .read = read_record,
};
