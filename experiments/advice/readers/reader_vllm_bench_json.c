/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/bench_times.h"
#include "experiments/advice/readers/json_counts.h"
#include "experiments/advice/readers/readers.h"

enum { DURATION, REQUESTS, GENERATED, TOKEN_TIME };
enum { RATES }; /* by depth */
static const spec_json_field fields[] = {
    SPEC_COUNT("spec_decode_num_drafts", o.rounds),
    SPEC_COUNT("spec_decode_accepted_tokens", o.accepted),
    SPEC_COUNT("spec_decode_draft_tokens", o.drafted),
    SPEC_REAL("spec_decode_acceptance_length", o.printed_length, 1),
    SPEC_REAL("spec_decode_acceptance_rate", o.printed_rate, 0.01),
    SPEC_LIST("spec_decode_per_position_acceptance_rates", list[RATES]),
    SPEC_REAL("duration", other[DURATION], 1),
    SPEC_COUNT("completed", other[REQUESTS]),
    SPEC_COUNT("total_output_tokens", other[GENERATED]),
    SPEC_REAL("mean_tpot_ms", other[TOKEN_TIME], 1e-3),
    {0},
};

/* Members of the results, with or without speculation. SGLang's and TensorRT-LLM's programs of the
 * same origin lack rtfx, and so do versions that do not write spec_decode_* where they might. */
static const char newest[] = "rtfx";
static const char *const plain_keys[] = {newest,         "burstiness", "tokenizer_id",
                                         "mean_tpot_ms", "completed",  "total_output_tokens",
                                         "num_prompts",  "duration",   NULL};

static bool concerns(const char *bytes, size_t n)
{
    return (spec_json_has(bytes, n, "spec_decode_num_drafts") &&
            spec_json_has(bytes, n, "spec_decode_draft_tokens")) ||
           spec_json_has_all(bytes, n, plain_keys);
}

/* Rates by depth, as counts of rounds: their products with the rounds are whole. */
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
        const int status =
            spec_json_counts_number(&value, rate, SPEC_JSON_IS_REAL, key, record, error);
        if (status != GSL_SUCCESS) return status;
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

static bool is_plain(json_t *object)
{
    for (const char *const *key = plain_keys; *key != NULL; key++)
        if (json_object_get(object, *key) == NULL) return false;
    return true;
}

static int finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    spec_observation *o = &c->o;
    /* Without counts of drafts there were none: the program reads the engine's metrics for them. */
    const bool plain = isnan(o->rounds);
    c->skip = plain && !is_plain(place->object);
    if (plain) o->K = 0;
    if (plain) c->generation = place->learned->generation;
    spec_bench_times_add(o, &(spec_bench_times){.duration = c->other[DURATION],
                                                .requests = c->other[REQUESTS],
                                                .tokens = c->other[GENERATED],
                                                .token_time = c->other[TOKEN_TIME]});
    if (isnan(o->running)) c->gaps = SPEC_LOG_NO_TIMES;
    return plain ? GSL_SUCCESS : take_rates(o, c->list[RATES], place->record, error);
}

static int read(void *state, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error)
{
    const bool any = spec_json_has(record->bytes, record->n, newest);
    const spec_json_table table = {.key = any ? newest : "spec_decode_num_drafts",
                                   .kind = SPEC_OBSERVED_WINDOW,
                                   .needs_all = true,
                                   .fields = fields,
                                   .finish = finish};
    (void)state;
    return spec_json_counts_each(record, learned, &table, error);
}

const spec_log_format spec_reader_vllm_bench = {
    .name = "vllm-bench",
    .engine = "vllm",
    .summary = "results of vllm bench serve --save-result",
    .generations = (const char *const[]){"results with spec_decode_num_drafts", NULL},
    .concerns = concerns,
    .needles = (const char *const[]){"\"spec_decode_num_drafts\"", "\"burstiness\"", NULL},
    .read = read,
};
