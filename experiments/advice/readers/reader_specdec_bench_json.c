/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/json_counts.h"
#include "experiments/advice/readers/readers.h"

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
        const int status =
            spec_json_counts_number(&length, entry, SPEC_JSON_IS_COUNT, key, place->record, error);
        if (status != GSL_SUCCESS) return status;
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
    .key = "acceptance_lengths",
    .kind = SPEC_OBSERVED_REQUEST,
    .fields = (const spec_json_field[]){SPEC_LIST("acceptance_lengths", list[0]), {0}},
    .finish = response_finish,
};

static int response_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                         spec_error *error)
{
    (void)state;
    if (record->K < 1 || record->K > SPEC_OBSERVED_DEPTHS)
        return spec_fail(error, GSL_EUNSUP,
                         "%.150s: acceptance lengths do not tell the draft length; give that of "
                         "the run, as in --current 3",
                         record->file);
    return spec_json_counts_each(record, learned, &responses, error);
}

const spec_log_format spec_reader_specdec_bench_response = {
    .name = "specdec_bench-responses",
    .engine = "any",
    .summary = "responses of Model Optimizer's specdec_bench, with --current",
    .generations = (const char *const[]){"acceptance_lengths of a request", NULL},
    .concerns = response_concerns,
    .needles = (const char *const[]){"\"acceptance_lengths\"", NULL},
    .read = response_read,
};

/* ---- results: a histogram of the run --------------------------------------------------------- */

static const char *const results[] = {"Acceptance_Length_Histogram", "Conditional_Acceptance_Rate",
                                      NULL};
static const char *const profile[] = {"acceptance_length_histogram", "conditional_accept_rates",
                                      NULL};

static bool results_concern(const char *bytes, size_t n)
{
    return spec_json_has_all(bytes, n, results) || spec_json_has_all(bytes, n, profile);
}

static int results_finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    const int K = place->record->K;
    (void)error;
    c->skip = isnan(c->o.rounds); /* a profile that was not measured */
    c->generation = json_object_get(place->object, profile[0]) != NULL;
    if (c->o.K < 0 && K >= c->o.depths && K <= SPEC_OBSERVED_DEPTHS) c->o.depths = c->o.K = K;
    return GSL_SUCCESS;
}

static int results_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                        spec_error *error)
{
    const bool portable = spec_json_has_all(record->bytes, record->n, profile);
    const spec_json_table table = {
        .key = portable ? profile[0] : results[0],
        .kind = SPEC_OBSERVED_WINDOW,
        .fields = (const spec_json_field[]){SPEC_LIST("Acceptance_Length_Histogram", lengths),
                                            SPEC_LIST("acceptance_length_histogram", lengths),
                                            SPEC_COUNT("num_speculative_tokens", K),
                                            SPEC_REAL("mean_accept_length", o.printed_length, 1),
                                            {0}},
        .finish = results_finish};
    (void)state;
    return spec_json_counts_each(record, learned, &table, error);
}

const spec_log_format spec_reader_specdec_bench = {
    .name = "specdec_bench",
    .engine = "any",
    .summary = "results and profiles of Model Optimizer's specdec_bench",
    .generations = (const char *const[]){"acceptance_rate.json", "speculation_profile.json", NULL},
    .concerns = results_concern,
    .needles = (const char *const[]){"\"Acceptance_Length_Histogram\"",
                                     "\"acceptance_length_histogram\"", NULL},
    .read = results_read,
};
