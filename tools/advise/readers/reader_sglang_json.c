/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

#include <stdio.h>
#include <string.h>

/* ---- meta_info of a response, or spec_tokens_details ----------------------------------------- */

static const char *const response_generations[] = {
    "only spec_verify_ct (2024 to 2025)",
    "spec_accept_token_num (since late 2025)",
    "spec_accepted_drafts or spec_num_correct_drafts (2026)",
    NULL,
};

/* The newest names come first, because for some months responses had names of two generations. All
 * names count draft tokens, without the bonus token. */
static const spec_json_field response_fields[] = {
    SPEC_COUNT("spec_verify_ct", o.rounds),
    SPEC_COUNT("spec_num_correct_drafts", o.accepted),
    SPEC_COUNT("spec_accepted_drafts", o.accepted),
    SPEC_COUNT("spec_accept_token_num", o.accepted),
    SPEC_COUNT("spec_num_proposed_drafts", o.drafted),
    SPEC_COUNT("spec_proposed_drafts", o.drafted),
    SPEC_COUNT("spec_draft_token_num", o.drafted),
    SPEC_LIST("spec_correct_drafts_histogram", histogram),
    SPEC_LIST("spec_accept_histogram", histogram),
    SPEC_LIST("spec_acceptance_histogram", histogram),
    SPEC_REAL("spec_accept_length", o.printed_length, 1),
    SPEC_REAL("spec_accept_rate", o.printed_rate, 1),
    SPEC_COUNT("*completion_tokens", o.emitted),
    SPEC_COUNT("*prompt_tokens", o.prompt),
    SPEC_REAL("e2e_latency", o.seconds, 1),
    {0},
};

SPEC_JSON_CONCERNS(response_concerns, "spec_verify_ct")

/* Computes accepted tokens from rounds: each round emits one more token than it accepts, and the
 * prefill adds the first token. */
static void accepted_from_emitted(spec_observation *o)
{
    const double accepted = o->emitted - 1.0 - o->rounds;
    o->accepted = accepted >= 0.0 ? accepted : o->emitted - o->rounds;
    if (o->accepted < 0.0) o->accepted = NAN;
}

/* Takes the width. Proposed tokens are computed as rounds times the width at the end. If a round
 * accepts more than that width, widths vary, and we do not know the number of drafted tokens. */
static void take_width(spec_observation *o, spec_log_learned *learned)
{
    const double width = o->drafted / o->rounds;
    const double least = fmax(o->depths, ceil(o->accepted / o->rounds));
    if (!(o->rounds > 0.0) || isnan(width)) return;
    if (least > width) {
        snprintf(learned->note, sizeof learned->note,
                 "proposed drafts are rounds times a width of %g, but a round accepted %.0f: "
                 "widths vary, and the drafted tokens are not known",
                 width, least);
        o->drafted = NAN;
        o->K = least <= SPEC_OBSERVED_DEPTHS ? (int)least : -1;
    } else if (floor(width) == width && width <= SPEC_OBSERVED_DEPTHS) {
        o->K = (int)width;
        if (o->depths > 0) o->depths = o->K; /* the rest of passed is 0 */
    }
}

static int response_finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    spec_observation *o = &c->o;
    const char *key = spec_json_counts_key(place, response_fields, SPEC_JSON_MEANS(o.accepted));
    (void)error;
    c->skip = isnan(o->rounds); /* null: no speculation */
    if (json_object_get(place->object, key) != NULL)
        c->generation = strcmp(key, "spec_accept_token_num") == 0 ? 1 : 2;
    if (isnan(o->accepted)) accepted_from_emitted(o);
    if (o->rounds == 0.0)
        spec_observation_decode_plainly(o, o->emitted);
    else
        take_width(o, place->learned);
    if (c->generation == 0 && o->K < 0) o->K = place->record->K;
    return GSL_SUCCESS;
}

static const spec_json_table response = {
    .key = {"spec_verify_ct"}, .kind = SPEC_OBSERVED_REQUEST, .widths_vary = true, .streamed = true,
    .fields = response_fields, .finish = response_finish};

SPEC_JSON_READ(response_read, &response)

const spec_log_format spec_reader_sglang_response = {
    .name = "sglang-response", .engine = "sglang",
    .summary = "meta_info of SGLang's responses, or their spec_tokens_details",
    .generations = response_generations,
    .concerns = response_concerns,
    .needles = SPEC_TEXTS("\"spec_verify_ct\""), .read = response_read};

/* ---- /server_info ---------------------------------------------------------------------------- */

SPEC_JSON_CONCERNS(info_concerns, "avg_spec_accept_length", "internal_states")

/* Completes a mean since the start; each scheduler has one. Without a number of rounds it has no
 * weight. */
static int info_finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    c->skip = isnan(c->o.printed_length); /* null: no speculation */
    if (c->skip) return GSL_SUCCESS;
    spec_log_bad(place->record, error,
                 "avg_spec_accept_length, %.2f, is a mean without its number of rounds; give the "
                 "server's log, or responses: their meta_info has counts",
                 c->o.printed_length);
    return GSL_EUNSUP;
}

static const spec_json_table info = {
    .key = {"avg_spec_accept_length"}, .finish = info_finish,
    .fields = (const spec_json_field[]){
        SPEC_REAL("avg_spec_accept_length", o.printed_length, 1), {0}}};

SPEC_JSON_READ(info_read, &info)

const spec_log_format spec_reader_sglang_server_info = {
    .name = "sglang-server-info", .engine = "sglang",
    .summary = "SGLang's /server_info, which is refused: a mean without counts",
    .generations = SPEC_TEXTS("avg_spec_accept_length of internal_states"),
    .concerns = info_concerns,
    .needles = SPEC_TEXTS("\"avg_spec_accept_length\""), .read = info_read};
