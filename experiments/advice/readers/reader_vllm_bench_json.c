/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/bench_times.h"
#include "experiments/advice/readers/readers.h"
#include "experiments/advice/readers/request_counts.h"

enum {
    ROUNDS,
    ACCEPTED,
    DRAFTED,
    LENGTH,
    RATE,
    RATES, /* by depth */
    DURATION,
    REQUESTS,
    GENERATED,
    TOKEN_TIME
};

/* Members of the results, with or without speculation. SGLang's and TensorRT-LLM's programs of the
 * same origin lack rtfx, and so do versions that do not write spec_decode_* where they might. */
static const char newest[] = "rtfx";
static const char *const plain_keys[] = {newest,         "burstiness", "tokenizer_id",
                                         "mean_tpot_ms", "completed",  "total_output_tokens",
                                         "num_prompts",  "duration",   NULL};

static bool has_all(const char *bytes, size_t n, const char *const *keys)
{
    while (*keys != NULL && spec_json_part_has(bytes, n, *keys)) keys++;
    return *keys == NULL;
}

static bool concerns(const char *bytes, size_t n)
{
    return (spec_json_part_has(bytes, n, "spec_decode_num_drafts") &&
            spec_json_part_has(bytes, n, "spec_decode_draft_tokens")) ||
           has_all(bytes, n, plain_keys);
}

/* Rates by depth, as counts of rounds: their products with the rounds are whole. */
static int take_rates(spec_observation *o, const spec_json_member *rates,
                      const spec_log_record *record, spec_error *error)
{
    spec_json_member rate = {.key = rates->key};
    size_t at = 0;
    double sum = 0.0, most = o->rounds;
    while (spec_json_part_next(&rate.value, rates->value, &at)) {
        double value;
        const int status = spec_json_member_real(&value, &rate, record, error);
        if (status != GSL_SUCCESS) return status;
        const double rounds = nearbyint(value * o->rounds);
        if (!(fabs(value * o->rounds - rounds) <= 1e-6 * o->rounds) || rounds > most)
            return spec_log_bad(record, error,
                                "'%s' has %g, expected a share of %.0f rounds "
                                "that does not rise",
                                rates->key, value, o->rounds);
        if (o->depths < SPEC_OBSERVED_DEPTHS) o->passed[o->depths++] = rounds;
        sum += rounds;
        most = rounds;
    }
    if (o->depths > 0 && sum != o->accepted)
        return spec_log_bad(record, error, "'%s' has %.0f accepted tokens, expected %.0f",
                            rates->key, sum, o->accepted);
    return GSL_SUCCESS;
}

static int take_speculation(spec_observation *o, const spec_json_member *m,
                            const spec_log_record *record, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_request_counts counts = {
        .rounds = m[ROUNDS], .accepted = m[ACCEPTED], .drafted = m[DRAFTED]};
    SPEC_TRY(spec_request_counts_complete(&counts, record, error));
    SPEC_TRY(spec_request_counts_read(o, &counts, record, error));
    SPEC_TRY(spec_json_member_real(&o->printed_length, &m[LENGTH], record, error));
    SPEC_TRY(spec_json_member_real(&o->printed_rate, &m[RATE], record, error));
    o->printed_rate /= 100.0; /* per cent */
    if (m[RATES].value.bytes != NULL) SPEC_TRY(take_rates(o, &m[RATES], record, error));
done:
    return status;
}

static int take(const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = place->record;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, record->line);
    spec_bench_times times;
    spec_json_member m[] = {[ROUNDS] = {.key = "spec_decode_num_drafts"},
                            [ACCEPTED] = {.key = "spec_decode_accepted_tokens"},
                            [DRAFTED] = {.key = "spec_decode_draft_tokens"},
                            [LENGTH] = {.key = "spec_decode_acceptance_length"},
                            [RATE] = {.key = "spec_decode_acceptance_rate"},
                            [RATES] = {.key = "spec_decode_per_position_acceptance_rates"},
                            [DURATION] = {.key = "duration"},
                            [REQUESTS] = {.key = "completed"},
                            [GENERATED] = {.key = "total_output_tokens"},
                            [TOKEN_TIME] = {.key = "mean_tpot_ms"},
                            {0}};
    SPEC_TRY(spec_json_member_find(m, place->object, record, error));
    /* Without counts of drafts there were none: the program reads the engine's metrics for them. */
    const bool plain = m[ROUNDS].value.bytes == NULL && m[ACCEPTED].value.bytes == NULL &&
                       m[DRAFTED].value.bytes == NULL;
    if (plain && !has_all(place->object.bytes, place->object.n, plain_keys)) goto done;
    if (plain)
        o.K = 0;
    else
        SPEC_TRY(take_speculation(&o, m, record, error));
    SPEC_TRY(spec_json_member_real(&times.duration, &m[DURATION], record, error));
    SPEC_TRY(spec_json_member_count(&times.requests, &m[REQUESTS], record, error));
    SPEC_TRY(spec_json_member_count(&times.tokens, &m[GENERATED], record, error));
    SPEC_TRY(spec_json_member_real(&times.token_time, &m[TOKEN_TIME], record, error));
    times.token_time *= 1e-3;
    spec_bench_times_add(&o, &times);
    if (!plain) place->learned->generation = 0;
    place->learned->gaps = (o.depths > 0 || plain ? 0 : SPEC_LOG_NO_DEPTHS) |
                           (isnan(o.seconds) || isnan(o.running) ? SPEC_LOG_NO_TIMES : 0);
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

static int read(void *state, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error)
{
    const bool any = spec_json_part_has(record->bytes, record->n, newest);
    (void)state;
    return spec_json_part_each(record, learned, any ? newest : "spec_decode_num_drafts", take,
                               error);
}

const spec_log_format spec_reader_vllm_bench = {
    .name = "vllm-bench",
    .engine = "vllm",
    .summary = "results of vllm bench serve --save-result",
    .generations = (const char *const[]){"results with spec_decode_num_drafts", NULL},
    .concerns = concerns,
    .needles = (const char *const[]){"\"spec_decode_num_drafts\"", "\"rtfx\"", NULL},
    .read = read,
};
