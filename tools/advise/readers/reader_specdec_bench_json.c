/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

/* specdec_bench of NVIDIA's Model Optimizer counts the tokens of each step of the engine: accepted
 * draft tokens, and the target's own. Since 2026 it leaves out the first step of an answer, if that
 * only emits the prefill's token, and the last, which may be cut. */

/* ---- responses: the lengths of a request, one after the other -------------------------------- */

SPEC_JSON_CONCERNS(response_concerns, "acceptance_lengths", "question_id")

static int response_finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    static const char key[] = "acceptance_lengths";
    spec_observation *o = &c->o;
    const json_t *entry;
    size_t i;
    c->skip = json_array_size(c->list[0]) == 0; /* a request that failed */
    o->rounds = (double)json_array_size(c->list[0]);
    o->accepted = 0.0;
    json_array_foreach(c->list[0], i, entry)
    {
        double length;
        SPEC_PASS(
            spec_json_counts_number(&length, entry, SPEC_JSON_IS_COUNT, key, place->record, error));
        if (!(length >= 1 && length <= SPEC_OBSERVED_DEPTHS + 1))
            return spec_log_bad(place->record, error,
                                "'%s' has a length %.0f: expected 1 to %d, the target's own token "
                                "included",
                                key, length, SPEC_OBSERVED_DEPTHS + 1);
        for (int j = 0; j < (int)length - 1; j++) o->passed[j]++;
        if (length - 1 > o->depths) o->depths = (int)length - 1;
        o->accepted += length - 1;
    }
    o->rounds_low = o->rounds_high = o->rounds;
    /* No entry says how many tokens were drafted, so the longest accepted draft would be mistaken
     * for the draft length. */
    o->K = place->record->K;
    if (o->depths < o->K) o->depths = o->K;
    return GSL_SUCCESS;
}

static const spec_json_table responses = {
    .key = {"acceptance_lengths"},
    .kind = SPEC_OBSERVED_REQUEST,
    .finish = response_finish,
    .fields = (const spec_json_field[]){SPEC_LIST("acceptance_lengths", list[0]), {0}},
    .needs_K = "the draft length does not follow from acceptance lengths; give it, as in --current "
               "3"};

SPEC_JSON_READ(response_read, &responses)

const spec_log_format spec_reader_specdec_bench_response = {
    .name = "specdec_bench-responses", .engine = "any",
    .summary = "responses of Model Optimizer's specdec_bench, with --current",
    .generations = SPEC_TEXTS("acceptance_lengths of a request"),
    .concerns = response_concerns,
    .needles = SPEC_TEXTS("\"acceptance_lengths\""), .read = response_read};

/* ---- results: a histogram of the run --------------------------------------------------------- */

SPEC_JSON_CONCERNS(results_concern, "Acceptance_Length_Histogram", "Conditional_Acceptance_Rate",
                   "|", "acceptance_length_histogram", "conditional_accept_rates")

static int results_finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    const int K = place->record->K;
    (void)error;
    c->skip = isnan(c->o.rounds); /* a profile that was not measured */
    c->generation = json_object_get(place->object, "acceptance_length_histogram") != NULL;
    if (c->o.K < 0 && K >= c->o.depths && K <= SPEC_OBSERVED_DEPTHS) c->o.depths = c->o.K = K;
    return GSL_SUCCESS;
}

static const spec_json_table results = {
    .key = {"acceptance_length_histogram", "Acceptance_Length_Histogram"},
    .kind = SPEC_OBSERVED_WINDOW, .finish = results_finish,
    .fields = (const spec_json_field[]){
        SPEC_LIST("Acceptance_Length_Histogram", lengths),
        SPEC_LIST("acceptance_length_histogram", lengths),
        SPEC_COUNT("num_speculative_tokens", K),
        SPEC_REAL("mean_accept_length", o.printed_length, 1), {0}}};
SPEC_JSON_READ(results_read, &results)

const spec_log_format spec_reader_specdec_bench = {
    .name = "specdec_bench", .engine = "any",
    .summary = "results and profiles of Model Optimizer's specdec_bench",
    .generations = SPEC_TEXTS("acceptance_rate.json", "speculation_profile.json"),
    .concerns = results_concern,
    .needles = SPEC_TEXTS("\"Acceptance_Length_Histogram\"", "\"acceptance_length_histogram\""),
    .read = results_read};
