/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

/* Reads `timings` of llama-server's responses, as they are or as jq prints them. An object of
 * mlx-vlm with the same name has other members. */

SPEC_JSON_CONCERNS(llamacpp_concerns, "predicted_n", "predicted_ms", "!draft_rounds", "!draft_kind",
                   "|", "predicted_n", "predicted_per_second", "!draft_rounds", "!draft_kind", "|",
                   "draft_n", "draft_n_accepted", "!draft_rounds", "!draft_kind")
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

/* Each object has the tokens of the output, unless jq has only selected the counts of drafts. */
static const spec_json_table llamacpp = {
    .key = {"predicted_n", "draft_n"}, .kind = SPEC_OBSERVED_REQUEST, .streamed = true,
    .fields = fields, .finish = finish};
static const spec_json_table mlx_vlm = {
    .key = {"draft_rounds"}, .kind = SPEC_OBSERVED_REQUEST, .streamed = true,
    .fields = fields, .finish = finish};
SPEC_JSON_READ(llamacpp_read, &llamacpp)
SPEC_JSON_READ(mlx_vlm_read, &mlx_vlm)

const spec_log_format spec_reader_llamacpp_response = {
    .name = "llama.cpp-response", .engine = "llama.cpp",
    .summary = "timings in llama-server's responses, raw or from jq",
    .generations = SPEC_TEXTS("timings with draft_n since 2025"),
    .concerns = llamacpp_concerns,
    .needles = SPEC_TEXTS("\"predicted_n\"", "\"draft_n_accepted\""), .read = llamacpp_read};

const spec_log_format spec_reader_mlx_vlm_response = {
    .name = "mlx-vlm-response", .engine = "mlx-vlm", .summary = "timings in responses of mlx-vlm",
    .generations = SPEC_TEXTS("timings with draft_rounds"),
    .concerns = mlx_vlm_concerns,
    .needles = SPEC_TEXTS("\"draft_rounds\""), .read = mlx_vlm_read};
