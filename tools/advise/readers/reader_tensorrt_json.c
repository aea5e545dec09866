/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

/* ---- statistics of an iteration: a step of the whole batch ----------------------------------- */

enum { DECODING, PREFILL, RANK, DRAFTING, OVERHEAD };

static int iteration_finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    spec_observation *o = &c->o;
    const json_t *stats = json_object_get(place->object, "specDecodingStats");
    const double decoding = c->other[DECODING], overhead = c->other[OVERHEAD];
    if (!json_is_object(stats) && !json_is_null(stats))
        return spec_log_bad(place->record, error, "'specDecodingStats' is not a JSON object");
    c->skip = c->other[RANK] > 0; /* rank 0 has the same numbers */
    if (isnan(o->seconds) && overhead > 0.0) o->seconds = c->other[DRAFTING] / overhead;
    c->timed = !isnan(o->seconds);
    /* A step with a prefill takes longer than a round. */
    if (c->other[PREFILL] > 0) o->seconds = NAN;
    o->running = isnan(decoding) ? o->rounds : decoding;
    if (!(o->drafted > 0)) { /* plain decoding: each request gets a token */
        c->skip |= !(decoding > 0);
        spec_observation_decode_plainly(o, decoding);
        o->printed_length = NAN;
    } else if (decoding >= o->rounds) {
        o->passes = decoding;
        o->emitted = decoding + o->accepted;
    }
    return GSL_SUCCESS;
}

static const spec_json_table iteration = {
    .key = {"specDecodingStats"}, .kind = SPEC_OBSERVED_WINDOW, .needs_all = true,
    .finish = iteration_finish,
    .fields = (const spec_json_field[]){
        SPEC_COUNT("specDecodingStats.numRequestsWithDraftTokens", o.rounds),
        SPEC_COUNT("specDecodingStats.numAcceptedTokens", o.accepted),
        SPEC_COUNT("specDecodingStats.numDraftTokens", o.drafted),
        SPEC_REAL("specDecodingStats.acceptanceLength", o.printed_length, 1),
        SPEC_REAL("specDecodingStats.iterLatencyMS", other[DRAFTING], 1e-3),
        SPEC_REAL("specDecodingStats.draftOverhead", other[OVERHEAD], 1),
        SPEC_REAL("iterLatencyMS", o.seconds, 1e-3),
        SPEC_COUNT("inflightBatchingStats.numGenRequests", other[DECODING]),
        SPEC_COUNT("inflightBatchingStats.numContextRequests", other[PREFILL]),
        SPEC_COUNT("attentionDpRank", other[RANK]), {0}}};

SPEC_JSON_CONCERNS(iteration_concerns, "specDecodingStats")

SPEC_JSON_READ(iteration_read, &iteration)

const spec_log_format spec_reader_tensorrt_iterations = {
    .name = "tensorrt-llm-iterations", .engine = "tensorrt-llm",
    .summary = "TensorRT-LLM's iteration statistics (/metrics, get_stats)",
    .generations = SPEC_TEXTS("iterations with specDecodingStats"),
    .concerns = iteration_concerns,
    .needles = SPEC_TEXTS("\"specDecodingStats\""), .read = iteration_read};

/* ---- responses: counts, or tokens per iteration alone ---------------------------------------- */

enum { MEAN_ALONE, COUNTS };
static const char *const response_generations[] = {
    [MEAN_ALONE] = "avg_decoded_tokens_per_iter",
    [COUNTS] = "speculative_decoding of choices",
    NULL,
};

static int counts_finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    (void)place, (void)error;
    c->skip = isnan(c->o.rounds);
    c->generation = COUNTS;
    spec_json_counts_emit(&c->o, c->o.emitted);
    return GSL_SUCCESS;
}

static const spec_json_table counts = {
    .key = {"total_accepted_draft_tokens"}, .kind = SPEC_OBSERVED_REQUEST, .needs_all = true,
    .finish = counts_finish,
    .fields = (const spec_json_field[]){
        SPEC_COUNT("num_spec_steps", o.rounds),
        SPEC_COUNT("total_accepted_draft_tokens", o.accepted),
        SPEC_COUNT("total_draft_tokens", o.drafted),
        SPEC_LIST("acceptance_histogram", histogram),
        SPEC_COUNT("num_spec_tokens", K),
        SPEC_REAL("acceptance_rate", o.printed_rate, 1),
        SPEC_REAL("*avg_decoded_tokens_per_iter", o.printed_length, 1),
        SPEC_COUNT("*prompt_tokens", o.prompt),
        /* ignored if several choices share these tokens */
        SPEC_COUNT("*completion_tokens", o.emitted),
        {0}}};

/* The mean is tokens over iterations. Both are whole numbers, so the mean determines the
 * iterations. */
static int mean_finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    spec_observation *o = &c->o;
    const double passes = nearbyint(o->emitted / o->printed_length);
    const bool exact = fabs(o->emitted / o->printed_length - passes) <= 1e-4 && passes >= 1;
    (void)place, (void)error;
    c->skip = !(o->printed_length > 0 && o->emitted > 0);
    c->gaps = exact ? 0 : SPEC_LOG_ROUNDED;
    if (exact && passes <= o->emitted) {
        o->passes = passes;
        o->accepted = o->emitted - passes;
    }
    return GSL_SUCCESS;
}

static const spec_json_table mean = {
    .key = {"avg_decoded_tokens_per_iter"}, .kind = SPEC_OBSERVED_REQUEST, .streamed = true,
    .finish = mean_finish,
    .fields = (const spec_json_field[]){
        SPEC_REAL("avg_decoded_tokens_per_iter", o.printed_length, 1),
        SPEC_COUNT("*completion_tokens", o.emitted), {0}}};

/* Leaves out AIPerf's summary, which also has one of these names. */
SPEC_JSON_CONCERNS(response_concerns, "avg_decoded_tokens_per_iter", "|",
                   "total_accepted_draft_tokens", "!total_spec_decode_steps")

static int response_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                         spec_error *error)
{
    const bool counted = spec_json_has(record->bytes, record->n, counts.key[0]);
    (void)state;
    return spec_json_counts_each(record, learned, counted ? &counts : &mean, error);
}

const spec_log_format spec_reader_tensorrt_response = {
    .name = "tensorrt-llm-response", .engine = "tensorrt-llm",
    .summary = "responses of trtllm-serve",
    .generations = response_generations,
    .concerns = response_concerns,
    .needles = SPEC_TEXTS("\"total_accepted_draft_tokens\"", "\"avg_decoded_tokens_per_iter\""),
    .read = response_read};
