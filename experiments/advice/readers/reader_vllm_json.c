/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/readers.h"
#include "experiments/advice/readers/request_counts.h"

/* Members that vLLM and AIPerf name in the same way. */
enum { ROUNDS, ACCEPTED, DRAFTED, HISTOGRAM, WIDTH, LENGTH, RATE, STEP_ACCEPTED, STEP_DRAFTED };

static int read_counts(spec_observation *o, const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_json_member m[] = {[ROUNDS] = {.key = "num_spec_steps"},
                            [ACCEPTED] = {.key = "num_accepted_draft_tokens"},
                            [DRAFTED] = {.key = "num_draft_tokens"},
                            [HISTOGRAM] = {.key = "acceptance_histogram"},
                            [WIDTH] = {.key = "num_spec_tokens"},
                            [LENGTH] = {.key = "mean_acceptance_length"},
                            [RATE] = {.key = "draft_acceptance_rate"},
                            [STEP_ACCEPTED] = {.key = "per_step_accepted"},
                            [STEP_DRAFTED] = {.key = "per_step_drafted"},
                            {0}};
    SPEC_TRY(spec_json_member_find(m, place->object, place->record, error));
    const spec_request_counts counts = {.rounds = m[ROUNDS],
                                        .accepted = m[ACCEPTED],
                                        .drafted = m[DRAFTED],
                                        .histogram = m[HISTOGRAM],
                                        .K = m[WIDTH]};
    SPEC_TRY(spec_request_counts_complete(&counts, place->record, error));
    SPEC_TRY(spec_request_counts_read(o, &counts, place->record, error));
    SPEC_TRY(spec_json_member_real(&o->printed_length, &m[LENGTH], place->record, error));
    SPEC_TRY(spec_json_member_real(&o->printed_rate, &m[RATE], place->record, error));
    SPEC_TRY(
        spec_request_counts_per_step(o, &m[STEP_ACCEPTED], &m[STEP_DRAFTED], place->record, error));
    o->label = spec_json_part_model(place->element);
    place->learned->generation = 0;
    place->learned->gaps = o->depths > 0 || o->K == 0 ? 0 : SPEC_LOG_NO_DEPTHS;
done:
    return status;
}

/* ---- vLLM: metrics.speculative_decoding of a response ---------------------------------------- */

static bool vllm_concerns(const char *bytes, size_t n)
{
    return spec_json_part_has(bytes, n, "num_accepted_draft_tokens") &&
           spec_json_part_has(bytes, n, "speculative_decoding") &&
           !spec_json_part_has(bytes, n, "spec_decode_acceptance");
}

static int vllm_take(const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = place->record;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    spec_json_member tokens = {.key = "completion_tokens"};
    double emitted;
    SPEC_TRY(read_counts(&o, place, error));
    spec_json_member_search(&tokens, place);
    SPEC_TRY(spec_json_member_count(&emitted, &tokens, record, error));
    spec_request_counts_emitted(&o, emitted);
    place->learned->gaps |= SPEC_LOG_NO_TIMES;
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

static int vllm_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                     spec_error *error)
{
    (void)state;
    return spec_json_part_each(record, learned, "num_accepted_draft_tokens", vllm_take, error);
}

const spec_log_format spec_reader_vllm_response = {
    .name = "vllm-response",
    .engine = "vllm",
    .summary = "responses of vLLM with --per-request-spec-decode-metrics",
    .generations = (const char *const[]){"0.27 and later", NULL},
    .concerns = vllm_concerns,
    .needles = (const char *const[]){"\"num_accepted_draft_tokens\"", NULL},
    .read = vllm_read,
};

/* ---- AIPerf: spec_decode_acceptance of a record ---------------------------------------------- */

static bool aiperf_concerns(const char *bytes, size_t n)
{
    return spec_json_part_has(bytes, n, "spec_decode_acceptance") &&
           spec_json_part_has(bytes, n, "num_accepted_draft_tokens");
}

/* Milliseconds of a metric {"value": 12.5, "unit": "ms"}; NaN: absent, or in another unit. */
static int milliseconds(double *ret_ms, const spec_json_place *place, const char *name,
                        spec_error *error)
{
    const spec_json_part metric = spec_json_part_find(place->element, name);
    spec_json_member m[] = {{.key = "value"}, {.key = "unit"}, {0}};
    *ret_ms = NAN;
    if (metric.bytes == NULL || *metric.bytes != '{') return GSL_SUCCESS;
    const int status = spec_json_member_find(m, metric, place->record, error);
    if (status != GSL_SUCCESS || !spec_json_part_is(m[1].value, "\"ms\"")) return status;
    return spec_json_member_real(ret_ms, &m[0], place->record, error);
}

static int aiperf_take(const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = place->record;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    double emitted, whole, first;
    spec_json_member m[] = {{.key = "completion_tokens"}, {.key = "engine"}, {0}};
    SPEC_TRY(read_counts(&o, place, error));
    SPEC_TRY(spec_json_member_find(m, place->object, record, error));
    SPEC_TRY(spec_json_member_count(&emitted, &m[0], record, error));
    spec_request_counts_emitted(&o, emitted);
    if (place->alone) {
        SPEC_TRY(milliseconds(&whole, place, "request_latency", error));
        SPEC_TRY(milliseconds(&first, place, "time_to_first_token", error));
        if (whole > first) o.seconds = 1e-3 * (whole - first);
    }
    if (m[1].value.n > 2) o.label ^= spec_log_label(m[1].value.bytes, m[1].value.n);
    place->learned->gaps |= isnan(o.seconds) ? SPEC_LOG_NO_TIMES : 0;
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

static int aiperf_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                       spec_error *error)
{
    (void)state;
    return spec_json_part_each(record, learned, "num_accepted_draft_tokens", aiperf_take, error);
}

const spec_log_format spec_reader_aiperf = {
    .name = "aiperf",
    .engine = "any", /* the record names it */
    .summary = "records of AIPerf (--export-level records)",
    .generations = (const char *const[]){"records with spec_decode_acceptance", NULL},
    .concerns = aiperf_concerns,
    .needles = (const char *const[]){"\"spec_decode_acceptance\"", NULL},
    .read = aiperf_read,
};
