/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/json_counts.h"
#include "experiments/advice/readers/readers.h"

/* Reads `timings` of llama-server's responses, as they are or as jq prints them. Under the same
 * name, mlx-vlm has more members. */

static bool llamacpp_concerns(const char *bytes, size_t n)
{
    static const char *const keys[][5] = {
        {"predicted_n", "predicted_ms", "!draft_rounds", "!draft_kind"},
        {"predicted_n", "predicted_per_second", "!draft_rounds", "!draft_kind"},
        {"draft_n", "draft_n_accepted", "!draft_rounds", "!draft_kind"}};
    for (int i = 0; i < 3; i++)
        if (spec_json_has_all(bytes, n, keys[i])) return true;
    return false;
}

SPEC_JSON_CONCERNS(mlx_vlm_concerns, "draft_rounds", "draft_n")

enum { SPEED, CACHED };
static const spec_json_field fields[] = {
    SPEC_COUNT("draft_rounds", o.rounds),
    SPEC_COUNT("draft_n_accepted", o.accepted),
    SPEC_COUNT("draft_n", o.drafted),
    SPEC_COUNT("predicted_n", o.emitted),
    SPEC_COUNT("prompt_n", o.prompt),
    SPEC_COUNT("cache_n", other[CACHED]), /* tokens of the prompt that were in the cache */
    SPEC_REAL("predicted_ms", o.seconds, 1e-3),
    SPEC_REAL("predicted_per_second", other[SPEED], 1),
    {0},
};

static int finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    if (isnan(c->o.seconds) && c->other[SPEED] > 0.0) c->o.seconds = c->o.emitted / c->other[SPEED];
    if (c->other[CACHED] > 0.0) c->o.prompt += c->other[CACHED];
    return spec_json_counts_by_tokens(c, place, fields, error);
}

#define TABLE(name)                                                                                \
    (const spec_json_table)                                                                        \
    {                                                                                              \
        .key = name, .kind = SPEC_OBSERVED_REQUEST, .streamed = true, .fields = fields,            \
        .finish = finish                                                                           \
    }

/* Each object has the tokens of the output, unless jq has only selected the counts of drafts. */
static int llamacpp_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                         spec_error *error)
{
    const bool tokens = spec_json_has(record->bytes, record->n, "predicted_n");
    (void)state;
    return spec_json_counts_each(record, learned, &TABLE(tokens ? "predicted_n" : "draft_n"),
                                 error);
}

SPEC_JSON_READ(mlx_vlm_read, &TABLE("draft_rounds"))

const spec_log_format spec_reader_llamacpp_response = {
    .name = "llama.cpp-response",
    .engine = "llama.cpp",
    .summary = "timings of llama-server's responses, also through jq",
    .generations = (const char *const[]){"timings with draft_n since 2025", NULL},
    .concerns = llamacpp_concerns,
    .needles = (const char *const[]){"\"predicted_n\"", "\"draft_n_accepted\"", NULL},
    .read = llamacpp_read,
};

const spec_log_format spec_reader_mlx_vlm_response = {
    .name = "mlx-vlm-response",
    .engine = "mlx-vlm",
    .summary = "timings in responses of mlx-vlm",
    .generations = (const char *const[]){"timings with draft_rounds", NULL},
    .concerns = mlx_vlm_concerns,
    .needles = (const char *const[]){"\"draft_rounds\"", NULL},
    .read = mlx_vlm_read,
};
