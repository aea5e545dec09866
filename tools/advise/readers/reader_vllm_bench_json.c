/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

#include <gsl/gsl_cdf.h>
#include <stdio.h>

/* RATES is by depth; the others are by request, with --save-detailed */
enum { RATES, CHUNKS, LENGTHS };
static const spec_json_field fields[] = {
    SPEC_COUNT("spec_decode_num_drafts", o.rounds),
    SPEC_COUNT("spec_decode_accepted_tokens", o.accepted),
    SPEC_COUNT("spec_decode_draft_tokens", o.drafted),
    SPEC_REAL("spec_decode_acceptance_length", o.printed_length, 1),
    SPEC_REAL("spec_decode_acceptance_rate", o.printed_rate, 0.01),
    SPEC_LIST("spec_decode_per_position_acceptance_rates", list[RATES]),
    SPEC_LIST("itls", list[CHUNKS]),
    SPEC_LIST("output_lens", list[LENGTHS]),
    SPEC_REAL("duration", times.duration, 1),
    SPEC_COUNT("completed", times.requests),
    SPEC_COUNT("total_output_tokens", times.tokens),
    SPEC_REAL("mean_tpot_ms", times.token_time, 1e-3),
    {0},
};

/* Members of the results, with or without speculation. SGLang's and TensorRT-LLM's programs come
 * from the same one, but lack rtfx; so do versions of vLLM that may not write spec_decode_*. */
#define PLAIN_KEYS                                                                                 \
    "rtfx", "burstiness", "tokenizer_id", "mean_tpot_ms", "completed", "total_output_tokens",      \
        "num_prompts", "duration"

SPEC_JSON_CONCERNS(concerns, "spec_decode_num_drafts", "spec_decode_draft_tokens", "|", PLAIN_KEYS)

/* Turns rates by depth into counts of rounds. A rate times the number of rounds is a whole
 * number. */
static int take_rates(spec_observation *o, const json_t *rates, const spec_log_record *record,
                      spec_error *error)
{
    static const char key[] = "spec_decode_per_position_acceptance_rates";
    const json_t *rate;
    size_t i;
    double sum = 0.0, most = o->rounds;
    json_array_foreach(rates, i, rate)
    {
        double value;
        SPEC_PASS(spec_json_counts_number(&value, rate, SPEC_JSON_IS_REAL, key, record, error));
        const double rounds = nearbyint(value * o->rounds);
        if (!(fabs(value * o->rounds - rounds) <= 1e-6 * o->rounds) || rounds > most)
            return spec_log_bad(record, error,
                                "'%s' has %g, expected a share of %.0f rounds "
                                "that does not rise",
                                key, value, o->rounds);
        if (o->depths < SPEC_OBSERVED_DEPTHS) o->passed[o->depths++] = rounds;
        sum += rounds;
        most = rounds;
    }
    if (o->depths > 0 && sum != o->accepted)
        return spec_log_bad(record, error, "'%s' has %.0f accepted tokens, expected %.0f", key, sum,
                            o->accepted);
    return GSL_SUCCESS;
}

/* ---- requests of --save-detailed ------------------------------------------------------------- */

typedef struct {
    double n, chunks, tokens;                        /* sums over requests */
    double chunks_squared, tokens_squared, products; /* sums of squares and products */
} request_sums;

/* Reads a request that succeeded: the chunks of its stream and its tokens, both after the first
 * one, and its decoding time. Each chunk is a step of the engine. Returns false if the request
 * failed or has one token. */
static bool request_at(spec_observation *ret, const spec_json_counts *c, size_t i)
{
    const json_t *times = json_array_get(c->list[CHUNKS], i), *time;
    const double tokens = json_number_value(json_array_get(c->list[LENGTHS], i)) - 1.0;
    size_t k;
    *ret = spec_observation_empty(SPEC_OBSERVED_REQUEST, c->o.line);
    ret->passes = (double)json_array_size(times);
    ret->emitted = tokens;
    ret->running = c->o.running;
    ret->seconds = 0.0;
    json_array_foreach(times, k, time) ret->seconds += json_number_value(time);
    return ret->passes > 0.0 && tokens >= ret->passes && ret->seconds > 0.0;
}

/* Hands over the requests of plain decoding one by one: without drafts, each of them has all the
 * numbers of an observation. */
static int give_plain(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    const spec_observer *to = place->record->observer;
    for (size_t i = 0; i < json_array_size(c->list[CHUNKS]); i++) {
        spec_observation o;
        if (!request_at(&o, c, i)) continue;
        spec_observation_decode_plainly(&o, o.emitted);
        SPEC_PASS(to->take(to->self, &o, error));
        c->skip = true;
    }
    return GSL_SUCCESS;
}

/* Notes an interval for the tokens per step, a ratio of sums over independent requests, by
 * linearisation. With drafts, the counts by depth are totals of the run, so requests cannot be
 * handed over one by one. */
static void note_requests(const spec_json_counts *c, spec_log_learned *learned)
{
    request_sums s = {0};
    for (size_t i = 0; i < json_array_size(c->list[CHUNKS]); i++) {
        spec_observation o;
        if (!request_at(&o, c, i)) continue;
        s.n++;
        s.chunks += o.passes;
        s.tokens += o.emitted;
        s.chunks_squared += o.passes * o.passes;
        s.tokens_squared += o.emitted * o.emitted;
        s.products += o.passes * o.emitted;
    }
    if (s.n < 2) return;
    const double ratio = s.tokens / s.chunks;
    const double squares =
        s.tokens_squared - 2.0 * ratio * s.products + ratio * ratio * s.chunks_squared;
    const double half = gsl_cdf_tdist_Pinv(0.975, s.n - 1.0) *
                        sqrt(fmax(squares, 0.0) * s.n / (s.n - 1.0)) / s.chunks;
    snprintf(learned->note, sizeof learned->note,
             "its %.0f requests emit %.2f to %.2f tokens per step (95 %%); a chunk of a stream is "
             "a step",
             s.n, ratio - half, ratio + half);
}

static int finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    spec_observation *o = &c->o;
    /* If there are no counts of drafts, there were no drafts, because the program reads the
     * engine's metrics. */
    const bool plain = isnan(o->rounds);
    c->skip = plain && !spec_json_has_all(place->text.bytes, place->text.n, SPEC_TEXTS(PLAIN_KEYS));
    if (plain) o->K = 0;
    if (plain) c->generation = place->learned->generation;
    spec_bench_times_add(o, &c->times);
    if (isnan(o->running)) c->gaps = SPEC_LOG_NO_TIMES;
    if (!plain) note_requests(c, place->learned);
    if (plain && !c->skip) return give_plain(c, place, error);
    return plain ? GSL_SUCCESS : take_rates(o, c->list[RATES], place->record, error);
}

static const spec_json_table table = {
    .key = {"rtfx", "spec_decode_num_drafts"}, .kind = SPEC_OBSERVED_WINDOW, .needs_all = true,
    .fields = fields, .finish = finish};
SPEC_JSON_READ(read, &table)

const spec_log_format spec_reader_vllm_bench = {
    .name = "vllm-bench", .engine = "vllm", .summary = "results of vllm bench serve --save-result",
    .generations = SPEC_TEXTS("results with spec_decode_num_drafts"),
    .concerns = concerns,
    .needles = SPEC_TEXTS("\"spec_decode_num_drafts\"", "\"burstiness\""), .read = read};
