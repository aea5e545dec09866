/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

/* usage.completion_tokens_details of OpenAI's responses, which LiteLLM and other servers fill in.
 * If a provider does not speculate, it writes 0 or null, which says nothing. Providers disagree on
 * whether completion_tokens includes rejected tokens, so we do not read it. */

static bool has_count(const char *bytes, size_t n, const char *key)
{
    const char *end = bytes + n, *at = bytes;
    while ((at = spec_json_behind_key((spec_json_part){at, (size_t)(end - at)}, key)) != NULL)
        if (at < end && *at >= '1' && *at <= '9') return true;
    return false;
}

/* Leaves out engines whose own counts have their own format. */
static bool concerns(const char *bytes, size_t n)
{
    static const char *const others[] = {"!predicted_n",
                                         "!spec_verify_ct",
                                         "!num_accepted_draft_tokens",
                                         "!total_accepted_draft_tokens",
                                         "!avg_decoded_tokens_per_iter",
                                         "!total_draft_tokens_count",
                                         "!generation_time",
                                         "!draft_rounds",
                                         NULL};
    return (has_count(bytes, n, "accepted_prediction_tokens") ||
            has_count(bytes, n, "rejected_prediction_tokens")) &&
           spec_json_has_all(bytes, n, others);
}

enum { REJECTED };

static int finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    spec_observation *o = &c->o;
    o->drafted = o->accepted + c->other[REJECTED];
    c->skip = !(o->drafted > 0);
    o->K = place->record->K;
    if (isnan(o->accepted) != isnan(c->other[REJECTED]))
        return spec_log_bad(place->record, error,
                            "'accepted_prediction_tokens' and 'rejected_prediction_tokens' are "
                            "expected together");
    return GSL_SUCCESS;
}

static const spec_json_table table = {
    .key = {"accepted_prediction_tokens"}, .kind = SPEC_OBSERVED_REQUEST, .streamed = true,
    .finish = finish,
    .fields = (const spec_json_field[]){
        SPEC_COUNT("accepted_prediction_tokens", o.accepted),
        SPEC_COUNT("rejected_prediction_tokens", other[REJECTED]), {0}}};

SPEC_JSON_READ(read, &table)

const spec_log_format spec_reader_openai_usage = {
    .name = "openai-usage", .engine = "any",
    .summary = "usage with accepted_prediction_tokens: OpenAI, LiteLLM and servers like them",
    .generations = SPEC_TEXTS("completion_tokens_details since late 2024"),
    .concerns = concerns,
    .needles = SPEC_TEXTS("\"accepted_prediction_tokens\"", "\"rejected_prediction_tokens\""),
    .read = read};
