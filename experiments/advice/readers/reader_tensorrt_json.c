/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/readers.h"
#include "experiments/advice/readers/request_counts.h"

/* Counts of an object of this name, which has rounds, accepted and drafted tokens at least. */
static int read_counts(spec_observation *o, const spec_request_counts *counts, const char *name,
                       const spec_log_record *record, spec_error *error)
{
    const spec_json_member *const needed[] = {&counts->rounds, &counts->accepted, &counts->drafted};
    for (int i = 0; i < 3; i++) {
        if (needed[i]->value.bytes == NULL)
            return spec_log_bad(record, error, "a count '%s' is expected in '%s'", needed[i]->key,
                                name);
    }
    return spec_request_counts_read(o, counts, record, error);
}

/* ---- statistics of an iteration: a step of the whole batch ----------------------------------- */

static bool iteration_concerns(const char *bytes, size_t n)
{
    return spec_json_part_has(bytes, n, "specDecodingStats");
}

/* Requests that decode, and those in their prefill; NaN: not given. */
static int read_batch(double *ret_decoding, double *ret_prefill, spec_json_part stats,
                      const spec_log_record *record, spec_error *error)
{
    spec_json_member m[] = {{.key = "numGenRequests"}, {.key = "numContextRequests"}, {0}};
    *ret_decoding = *ret_prefill = NAN;
    if (stats.bytes == NULL) return GSL_SUCCESS;
    int status = spec_json_member_find(m, stats, record, error);
    if (status == GSL_SUCCESS) status = spec_json_member_count(ret_decoding, &m[0], record, error);
    if (status == GSL_SUCCESS) status = spec_json_member_count(ret_prefill, &m[1], record, error);
    return status;
}

static int read_drafts(spec_observation *o, spec_json_part stats, const spec_log_record *record,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    double overhead;
    spec_json_member m[] = {{.key = "numRequestsWithDraftTokens"},
                            {.key = "numAcceptedTokens"},
                            {.key = "numDraftTokens"},
                            {.key = "acceptanceLength"},
                            {.key = "iterLatencyMS"}, /* of the draft alone */
                            {.key = "draftOverhead"},
                            {0}};
    if (stats.bytes == NULL) return GSL_SUCCESS;
    SPEC_TRY(spec_json_member_find(m, stats, record, error));
    const spec_request_counts counts = {.rounds = m[0], .accepted = m[1], .drafted = m[2]};
    SPEC_TRY(read_counts(o, &counts, "specDecodingStats", record, error));
    SPEC_TRY(spec_json_member_real(&o->printed_length, &m[3], record, error));
    SPEC_TRY(spec_json_member_real(&o->draft_seconds, &m[4], record, error));
    SPEC_TRY(spec_json_member_real(&overhead, &m[5], record, error));
    o->draft_seconds *= 1e-3;
    if (isnan(o->seconds) && overhead > 0.0) o->seconds = o->draft_seconds / overhead;
    if (isnan(o->draft_seconds)) o->draft_seconds = overhead * o->seconds;
done:
    return status;
}

static int iteration_take(const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = place->record;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, record->line);
    double decoding, prefill, rank;
    spec_json_member m[] = {{.key = "specDecodingStats"},
                            {.key = "iterLatencyMS"},
                            {.key = "inflightBatchingStats"},
                            {.key = "attentionDpRank"},
                            {0}};
    SPEC_TRY(spec_json_member_find(m, place->object, record, error));
    SPEC_TRY(spec_json_member_count(&rank, &m[3], record, error));
    if (rank > 0) goto done; /* a copy of the numbers of rank 0 */
    SPEC_TRY(spec_json_member_real(&o.seconds, &m[1], record, error));
    o.seconds *= 1e-3;
    SPEC_TRY(read_batch(&decoding, &prefill, m[2].value, record, error));
    SPEC_TRY(read_drafts(&o, m[0].value, record, error));
    place->learned->generation = 0;
    place->learned->gaps = SPEC_LOG_NO_DEPTHS | (isnan(o.seconds) ? SPEC_LOG_NO_TIMES : 0);
    if (prefill > 0) o.seconds = o.draft_seconds = NAN; /* the time is not that of a round */
    o.running = isnan(decoding) ? o.rounds : decoding;
    if (!(o.drafted > 0)) { /* plain decoding: a token for each request */
        if (!(decoding > 0)) goto done;
        spec_observation_decode_plainly(&o, decoding);
        o.printed_length = o.draft_seconds = NAN;
    } else if (decoding >= o.rounds) {
        o.passes = decoding;
        o.emitted = decoding + o.accepted;
    }
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

static int iteration_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                          spec_error *error)
{
    (void)state;
    return spec_json_part_each(record, learned, "specDecodingStats", iteration_take, error);
}

const spec_log_format spec_reader_tensorrt_iterations = {
    .name = "tensorrt-llm-iterations",
    .engine = "tensorrt-llm",
    .summary = "TensorRT-LLM's statistics of iterations (/metrics, get_stats)",
    .generations = (const char *const[]){"iterations with specDecodingStats", NULL},
    .concerns = iteration_concerns,
    .needles = (const char *const[]){"\"specDecodingStats\"", NULL},
    .read = iteration_read,
};

/* ---- responses: counts, or tokens per iteration alone ---------------------------------------- */

enum { MEAN_ALONE, COUNTS };
static const char *const response_generations[] = {
    [MEAN_ALONE] = "avg_decoded_tokens_per_iter",
    [COUNTS] = "speculative_decoding of choices",
    NULL,
};

static bool response_concerns(const char *bytes, size_t n)
{
    return spec_json_part_has(bytes, n, "total_accepted_draft_tokens") ||
           spec_json_part_has(bytes, n, "avg_decoded_tokens_per_iter");
}

/* Tokens of the request, unless several choices share them. */
static int read_emitted(double *ret_emitted, const spec_json_place *place, spec_error *error)
{
    spec_json_member tokens = {.key = "completion_tokens"};
    spec_json_member_search(&tokens, place);
    return spec_json_member_count(ret_emitted, &tokens, place->record, error);
}

static int counts_take(const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = place->record;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    double emitted;
    spec_json_member m[] = {{.key = "num_spec_steps"},
                            {.key = "total_accepted_draft_tokens"},
                            {.key = "total_draft_tokens"},
                            {.key = "acceptance_histogram"},
                            {.key = "num_spec_tokens"},
                            {.key = "acceptance_rate"},
                            {0}};
    spec_json_member mean = {.key = "avg_decoded_tokens_per_iter"};
    SPEC_TRY(spec_json_member_find(m, place->object, record, error));
    const spec_request_counts counts = {
        .rounds = m[0], .accepted = m[1], .drafted = m[2], .histogram = m[3], .K = m[4]};
    SPEC_TRY(read_counts(&o, &counts, "speculative_decoding", record, error));
    SPEC_TRY(spec_json_member_real(&o.printed_rate, &m[5], record, error));
    SPEC_TRY(read_emitted(&emitted, place, error));
    spec_request_counts_emitted(&o, emitted);
    spec_json_member_search(&mean, place);
    SPEC_TRY(spec_json_member_real(&o.printed_length, &mean, record, error));
    o.label = spec_json_part_model(place->element);
    place->learned->generation = COUNTS;
    place->learned->gaps = SPEC_LOG_NO_TIMES | (o.depths > 0 ? 0 : SPEC_LOG_NO_DEPTHS);
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

/* The mean is tokens over iterations; both are whole, so that it gives the iterations. */
static int mean_take(const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = place->record;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    spec_json_member m[] = {{.key = "avg_decoded_tokens_per_iter"}, {0}};
    if (spec_request_counts_unfinished(place->object)) goto done;
    SPEC_TRY(spec_json_member_find(m, place->object, record, error));
    SPEC_TRY(spec_json_member_real(&o.printed_length, &m[0], record, error));
    SPEC_TRY(read_emitted(&o.emitted, place, error));
    if (!(o.printed_length > 0 && o.emitted > 0)) goto done;
    const double passes = nearbyint(o.emitted / o.printed_length);
    const bool exact = fabs(o.emitted / o.printed_length - passes) <= 1e-4 && passes >= 1;
    if (exact && passes <= o.emitted) {
        o.passes = passes;
        o.accepted = o.emitted - passes;
    }
    o.label = spec_json_part_model(place->element);
    place->learned->generation = MEAN_ALONE;
    place->learned->gaps = SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES |
                           (exact ? 0 : SPEC_LOG_ROUNDED);
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

static int response_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                         spec_error *error)
{
    (void)state;
    static const char counts[] = "total_accepted_draft_tokens";
    return spec_json_part_has(record->bytes, record->n, counts)
               ? spec_json_part_each(record, learned, counts, counts_take, error)
               : spec_json_part_each(record, learned, "avg_decoded_tokens_per_iter", mean_take,
                                     error);
}

const spec_log_format spec_reader_tensorrt_response = {
    .name = "tensorrt-llm-response",
    .engine = "tensorrt-llm",
    .summary = "responses of trtllm-serve",
    .generations = response_generations,
    .concerns = response_concerns,
    .needles = (const char *const[]){"\"total_accepted_draft_tokens\"",
                                     "\"avg_decoded_tokens_per_iter\"", NULL},
    .read = response_read,
};
