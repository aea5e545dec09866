/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

/* `usage` and `stats` of a response share the counts, so counts that are missing in one are looked
 * for in the whole response. LM Studio's SDKs and conversations write names in camel case, its REST
 * interface has other names. */
enum { REJECTED, IGNORED, SPEED };
static const spec_json_field fields[] = {
    SPEC_COUNT("*totalDraftTokensCount", o.drafted),
    SPEC_COUNT("*total_draft_tokens_count", o.drafted),
    SPEC_COUNT("*acceptedDraftTokensCount", o.accepted),
    SPEC_COUNT("*accepted_draft_tokens_count", o.accepted),
    SPEC_COUNT("*rejectedDraftTokensCount", other[REJECTED]),
    SPEC_COUNT("*rejected_draft_tokens_count", other[REJECTED]),
    SPEC_COUNT("*ignoredDraftTokensCount", other[IGNORED]),
    SPEC_COUNT("*ignored_draft_tokens_count", other[IGNORED]),
    SPEC_COUNT("*predictedTokensCount", o.emitted),
    SPEC_COUNT("*predicted_tokens_count", o.emitted),
    SPEC_COUNT("*completion_tokens", o.emitted),
    SPEC_COUNT("*prompt_tokens", o.prompt),
    SPEC_REAL("*tokensPerSecond", other[SPEED], 1),
    SPEC_REAL("*tokens_per_second", other[SPEED], 1),
    {0},
};

static int finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    double known = c->o.accepted;
    for (int i = REJECTED; i <= IGNORED; i++) known += isnan(c->other[i]) ? 0.0 : c->other[i];
    if (known > c->o.drafted)
        return spec_log_bad(place->record, error,
                            "accepted, rejected and ignored draft tokens are %.0f, '%s' is %.0f",
                            known, spec_json_counts_key(place, fields, SPEC_JSON_MEANS(o.drafted)),
                            c->o.drafted);
    if (c->other[SPEED] > 0.0) c->o.seconds = c->o.emitted / c->other[SPEED];
    return spec_json_counts_by_tokens(c, place, fields, error);
}

SPEC_JSON_CONCERNS(concerns, "totalDraftTokensCount", "|", "predictedTokensCount",
                   "tokensPerSecond", "|", "total_draft_tokens_count", "|", "tokens_per_second",
                   "generation_time")

/* A response may have no draft, but it has tokens or a speed. */
static const spec_json_table table = {
    .key = {"predictedTokensCount", "totalDraftTokensCount", "tokens_per_second",
            "total_draft_tokens_count"},
    .kind = SPEC_OBSERVED_REQUEST, .fields = fields, .finish = finish};
SPEC_JSON_READ(read_record, &table)

const spec_log_format spec_reader_lmstudio_response = {
    .name = "lm-studio-response", .engine = "lm-studio",
    .summary = "stats of LM Studio's responses and conversations",
    .generations = SPEC_TEXTS("draft token counts since 0.3.10"),
    .concerns = concerns,
    .needles = SPEC_TEXTS("\"totalDraftTokensCount\"", "\"predictedTokensCount\"",
                          "\"total_draft_tokens_count\"", "\"generation_time\""),
    .read = read_record};
