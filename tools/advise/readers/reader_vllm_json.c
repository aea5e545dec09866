/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

#include <string.h>

/* Fields that have the same name in vLLM and AIPerf; a list has an entry per round. */
enum { STEP_ACCEPTED, STEP_DRAFTED };
enum { EMITTED };
#define FIELDS                                                                                     \
    SPEC_COUNT("num_spec_steps", o.rounds), SPEC_COUNT("num_accepted_draft_tokens", o.accepted),   \
        SPEC_COUNT("num_draft_tokens", o.drafted), SPEC_COUNT("num_spec_tokens", K),               \
        SPEC_LIST("acceptance_histogram", histogram),                                              \
        SPEC_REAL("mean_acceptance_length", o.printed_length, 1),                                  \
        SPEC_REAL("draft_acceptance_rate", o.printed_rate, 1),                                     \
        SPEC_LIST("per_step_accepted", list[STEP_ACCEPTED]),                                       \
        SPEC_LIST("per_step_drafted", list[STEP_DRAFTED])

/* Checks that the rounds add up to the response's counts, and that none accepts more than it
 * drafted. */
static int check_steps(const spec_json_counts *c, const spec_log_record *record, spec_error *error)
{
    static const char *const key[] = {"per_step_accepted", "per_step_drafted"};
    json_t *const *list = c->list;
    double step[2], sum[2] = {0.0, 0.0};
    if (!json_is_array(list[0]) || !json_is_array(list[1])) return GSL_SUCCESS;
    const size_t n = json_array_size(list[0]);
    if (n != json_array_size(list[1]))
        return spec_log_bad(record, error, "'%s' and '%s' have different lengths", key[0], key[1]);
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++) {
            SPEC_PASS(spec_json_counts_number(&step[k], json_array_get(list[k], i),
                                              SPEC_JSON_IS_COUNT, key[k], record, error));
            sum[k] += step[k];
        }
        if (step[0] > step[1])
            return spec_log_bad(record, error, "'%s' and '%s': a round accepts %.0f of %.0f tokens",
                                key[0], key[1], step[0], step[1]);
    }
    if ((double)n != c->o.rounds || sum[0] != c->o.accepted || sum[1] != c->o.drafted)
        return spec_log_bad(record, error,
                            "'%s' and '%s' have %zu rounds, %.0f of %.0f tokens: expected %.0f, "
                            "%.0f of %.0f",
                            key[0], key[1], n, sum[0], sum[1], c->o.rounds, c->o.accepted,
                            c->o.drafted);
    return GSL_SUCCESS;
}

static int finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    c->skip = isnan(c->o.rounds);
    spec_json_counts_emit(&c->o, c->other[EMITTED]);
    return check_steps(c, place->record, error);
}

/* ---- vLLM: metrics.speculative_decoding of a response ---------------------------------------- */

static const spec_json_table vllm = {
    .key = {"num_accepted_draft_tokens"}, .kind = SPEC_OBSERVED_REQUEST, .needs_all = true,
    .finish = finish,
    .fields = (const spec_json_field[]){
        FIELDS, SPEC_COUNT("*completion_tokens", other[EMITTED]),
        SPEC_COUNT("*prompt_tokens", o.prompt), {0}}};

SPEC_JSON_CONCERNS(vllm_concerns, "num_accepted_draft_tokens", "speculative_decoding",
                   "!spec_decode_acceptance")

SPEC_JSON_READ(vllm_read, &vllm)

const spec_log_format spec_reader_vllm_response = {
    .name = "vllm-response", .engine = "vllm",
    .summary = "responses of vLLM with --per-request-spec-decode-metrics",
    .generations = SPEC_TEXTS("0.27 and later"),
    .concerns = vllm_concerns,
    .needles = SPEC_TEXTS("\"num_accepted_draft_tokens\""), .read = vllm_read};

/* ---- AIPerf: spec_decode_acceptance of a record ---------------------------------------------- */

/* Returns the milliseconds of a metric {"value": 12.5, "unit": "ms"}; NaN: absent, or in another
 * unit. */
static double milliseconds(const spec_json_place *place, const char *name)
{
    json_t *metric = spec_json_find(place->element, name);
    const char *unit = json_string_value(json_object_get(metric, "unit"));
    const json_t *value = json_object_get(metric, "value");
    double ms = NAN;
    if (unit != NULL && strcmp(unit, "ms") == 0 && json_is_number(value))
        ms = json_number_value(value);
    json_decref(metric);
    return ms;
}

/* Returns whether a request is measured. Like AIPerf, we leave out requests of the warm-up and
 * those that failed. */
static bool is_measured(const spec_json_place *place)
{
    json_t *phase = spec_json_find(place->element, "benchmark_phase");
    json_t *failure = spec_json_find(place->element, "error");
    const char *name = json_string_value(phase);
    const bool measured =
        (name == NULL || strcmp(name, "warmup") != 0) && (failure == NULL || json_is_null(failure));
    json_decref(phase);
    json_decref(failure);
    return measured;
}

static int aiperf_finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    const char *engine = json_string_value(json_object_get(place->object, "engine"));
    const double decoding =
        milliseconds(place, "request_latency") - milliseconds(place, "time_to_first_token");
    if (place->alone && decoding > 0.0) c->o.seconds = 1e-3 * decoding;
    if (engine != NULL) c->o.label = spec_log_label(engine, strlen(engine));
    const int status = finish(c, place, error);
    c->skip |= place->alone && !is_measured(place);
    return status;
}

static const spec_json_table aiperf = {
    .key = {"num_accepted_draft_tokens"}, .kind = SPEC_OBSERVED_REQUEST, .needs_all = true,
    .finish = aiperf_finish,
    .fields = (const spec_json_field[]){
        FIELDS, SPEC_COUNT("completion_tokens", other[EMITTED]), {0}}};

SPEC_JSON_CONCERNS(aiperf_concerns, "spec_decode_acceptance", "num_accepted_draft_tokens")

SPEC_JSON_READ(aiperf_read, &aiperf)

const spec_log_format spec_reader_aiperf = {
    .name = "aiperf",
    .engine = "any", /* the record names it */
    .summary = "records of AIPerf (--export-level records)",
    .generations = SPEC_TEXTS("records with spec_decode_acceptance"),
    .concerns = aiperf_concerns,
    .needles = SPEC_TEXTS("\"spec_decode_acceptance\""), .read = aiperf_read};

/* ---- AIPerf: the summary of a run ------------------------------------------------------------ */

static int summary_finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    (void)place, (void)error;
    c->skip = isnan(c->o.rounds);
    spec_bench_times_add(&c->o, &c->times);
    return GSL_SUCCESS;
}

static const spec_json_table summary = {
    .key = {"pooled_spec_decode_acceptance_histogram"}, .kind = SPEC_OBSERVED_WINDOW,
    .needs_all = true, .finish = summary_finish,
    .fields = (const spec_json_field[]){
        SPEC_COUNT("total_spec_decode_steps.avg", o.rounds),
        SPEC_COUNT("total_accepted_draft_tokens.avg", o.accepted),
        SPEC_COUNT("total_draft_tokens.avg", o.drafted),
        SPEC_LIST("pooled_spec_decode_acceptance_histogram", histogram),
        SPEC_REAL("spec_decode_token_weighted_acceptance_length.avg", o.printed_length, 1),
        SPEC_REAL("spec_decode_overall_draft_acceptance_rate.avg", o.printed_rate, 0.01),
        SPEC_REAL("benchmark_duration.avg", times.duration, 1),
        SPEC_COUNT("request_count.avg", times.requests),
        SPEC_COUNT("total_osl.avg", times.tokens),
        SPEC_REAL("inter_token_latency.avg", times.token_time, 1e-3), {0}}};

SPEC_JSON_CONCERNS(summary_concerns, "pooled_spec_decode_acceptance_histogram")

SPEC_JSON_READ(summary_read, &summary)

const spec_log_format spec_reader_aiperf_summary = {
    .name = "aiperf-summary", .engine = "any", .summary = "AIPerf's profile_export_aiperf.json",
    .generations = SPEC_TEXTS("totals and the pooled acceptance histogram"),
    .concerns = summary_concerns,
    .needles = SPEC_TEXTS("\"pooled_spec_decode_acceptance_histogram\""), .read = summary_read};

/* ---- AIPerf: the table of speed-bench-report ------------------------------------------------- */

static bool report_concerns(const char *bytes, size_t n)
{
    static const char first[] = "Model,", last[] = ",Overall";
    const size_t begin = sizeof first - 1, end = sizeof last - 1;
    return n > begin + end && memcmp(bytes, first, begin) == 0 &&
           memcmp(bytes + n - end, last, end) == 0;
}

static int report_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                       spec_error *error)
{
    (void)state, (void)learned;
    spec_log_bad(record, error,
                 "a SPEED-Bench report has means without their numbers of rounds; give "
                 "profile_export.jsonl or profile_export_aiperf.json of its runs");
    return GSL_EUNSUP;
}

const spec_log_format spec_reader_speed_bench_report = {
    .name = "speed-bench-report", .engine = "any",
    .summary = "AIPerf's speed-bench-report, which is refused: means without counts",
    .generations = SPEC_TEXTS("a column per category"),
    .concerns = report_concerns,
    .needles = SPEC_TEXTS(",Overall"), .read = report_read};
