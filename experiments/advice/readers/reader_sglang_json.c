/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/readers.h"
#include "experiments/advice/readers/request_counts.h"

#include <stdio.h>

/* ---- meta_info of a response, or spec_tokens_details ----------------------------------------- */

enum { ROUNDS_ALONE, TOKEN_NUM, DRAFTS };
static const char *const response_generations[] = {
    [ROUNDS_ALONE] = "spec_verify_ct alone (2024 to 2025)",
    [TOKEN_NUM] = "spec_accept_token_num (since late 2025)",
    [DRAFTS] = "spec_num_correct_drafts (2026)",
    NULL,
};

static bool response_concerns(const char *bytes, size_t n)
{
    return spec_json_part_has(bytes, n, "spec_verify_ct");
}

/* Rounds alone: each adds a token to the accepted ones, and the prefill adds the first. */
static void accepted_from_emitted(spec_observation *o)
{
    const double accepted = o->emitted - 1.0 - o->rounds;
    o->accepted = accepted >= 0.0 ? accepted : o->emitted - o->rounds;
    if (o->accepted < 0.0) o->accepted = NAN;
}

/* Proposed tokens are rounds times the width at the end. A round that accepts more proves that
 * widths vary, and that the number of drafted tokens is not known. */
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
    }
}

/* Members. CORRECT and PROPOSED of 2026 are ACCEPTED and DRAFTED of 2025. */
enum { ROUNDS, CORRECT, PROPOSED, ACCEPTED, DRAFTED, HISTOGRAM, LENGTH, RATE, TOKENS, SECONDS };

static int response_take(const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = place->record;
    spec_log_learned *learned = place->learned;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    spec_json_member m[] = {[ROUNDS] = {.key = "spec_verify_ct"},
                            [CORRECT] = {.key = "spec_num_correct_drafts"},
                            [PROPOSED] = {.key = "spec_num_proposed_drafts"},
                            [ACCEPTED] = {.key = "spec_accept_token_num"},
                            [DRAFTED] = {.key = "spec_draft_token_num"},
                            [HISTOGRAM] = {.key = "spec_correct_drafts_histogram"},
                            [LENGTH] = {.key = "spec_accept_length"},
                            [RATE] = {.key = "spec_accept_rate"},
                            [TOKENS] = {.key = "completion_tokens"},
                            [SECONDS] = {.key = "e2e_latency"},
                            {0}};
    if (spec_request_counts_unfinished(place->alone ? place->element : place->object)) goto done;
    SPEC_TRY(spec_json_member_find(m, place->object, record, error));
    if (m[ROUNDS].value.bytes == NULL) goto done; /* null: no speculation */
    spec_json_member_search(&m[TOKENS], place);
    const bool drafts = m[CORRECT].value.bytes != NULL,
               old = !drafts && m[ACCEPTED].value.bytes == NULL;
    const spec_request_counts counts = {.rounds = m[ROUNDS],
                                        .accepted = drafts ? m[CORRECT] : m[ACCEPTED],
                                        .drafted = drafts ? m[PROPOSED] : m[DRAFTED],
                                        .emitted = m[TOKENS],
                                        .histogram = m[HISTOGRAM],
                                        .widths_vary = true};
    SPEC_TRY(spec_request_counts_read(&o, &counts, record, error));
    if (isnan(o.accepted)) accepted_from_emitted(&o);
    SPEC_TRY(spec_json_member_real(&o.printed_length, &m[LENGTH], record, error));
    SPEC_TRY(spec_json_member_real(&o.printed_rate, &m[RATE], record, error));
    SPEC_TRY(spec_json_member_real(&o.seconds, &m[SECONDS], record, error));
    if (o.rounds == 0.0) {
        spec_observation_decode_plainly(&o, o.emitted);
    } else {
        take_width(&o, learned);
        if (old && o.K < 0) o.K = record->K;
    }
    o.label = spec_json_part_model(place->element);
    learned->generation = drafts ? DRAFTS : old ? ROUNDS_ALONE : TOKEN_NUM;
    learned->gaps =
        (o.depths > 0 ? 0 : SPEC_LOG_NO_DEPTHS) | (isnan(o.seconds) ? SPEC_LOG_NO_TIMES : 0);
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

static int response_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                         spec_error *error)
{
    (void)state;
    return spec_json_part_each(record, learned, "spec_verify_ct", response_take, error);
}

const spec_log_format spec_reader_sglang_response = {
    .name = "sglang-response",
    .engine = "sglang",
    .summary = "meta_info of SGLang's responses, or their spec_tokens_details",
    .generations = response_generations,
    .concerns = response_concerns,
    .needles = (const char *const[]){"\"spec_verify_ct\"", NULL},
    .read = response_read,
};

/* ---- /server_info ---------------------------------------------------------------------------- */

static bool info_concerns(const char *bytes, size_t n)
{
    return spec_json_part_has(bytes, n, "avg_spec_accept_length") &&
           spec_json_part_has(bytes, n, "internal_states");
}

/* A mean since the start, of each scheduler. Without a number of rounds it has no weight. */
static int info_take(const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    double length;
    spec_json_member m[] = {{.key = "avg_spec_accept_length"}, {0}};
    SPEC_TRY(spec_json_member_find(m, place->object, place->record, error));
    if (m[0].value.bytes == NULL) goto done; /* null: no speculation */
    SPEC_TRY(spec_json_member_real(&length, &m[0], place->record, error));
    spec_log_bad(place->record, error,
                 "avg_spec_accept_length, %.2f, is a mean without its number of rounds; give the "
                 "server's log, or responses: their meta_info has counts",
                 length);
    status = GSL_EUNSUP;
done:
    return status;
}

static int info_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                     spec_error *error)
{
    (void)state;
    return spec_json_part_each(record, learned, "avg_spec_accept_length", info_take, error);
}

const spec_log_format spec_reader_sglang_server_info = {
    .name = "sglang-server-info",
    .engine = "sglang",
    .summary = "SGLang's /server_info, which is refused: a mean without counts",
    .generations = (const char *const[]){"avg_spec_accept_length of internal_states", NULL},
    .concerns = info_concerns,
    .needles = (const char *const[]){"\"avg_spec_accept_length\"", NULL},
    .read = info_read,
};
