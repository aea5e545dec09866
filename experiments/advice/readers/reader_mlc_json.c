/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/readers.h"
#include "experiments/advice/readers/request_counts.h"

static bool concerns(const char *bytes, size_t n)
{
    return spec_json_part_has(bytes, n, "draft_count") &&
           spec_json_part_has(bytes, n, "accept_count");
}

/* MLC counts the target's own token as the first of a draft. So [0] has all passes, [j] those that
 * drafted, or accepted, at least j tokens. */
static int take_counts(spec_observation *o, const double *drafted, const double *accepted, int n,
                       const spec_log_record *record, spec_error *error)
{
    if (accepted[0] != drafted[0])
        return spec_log_bad(record, error,
                            "'accept_count' begins with %.0f, 'draft_count' with %.0f: expected "
                            "the same number of passes",
                            accepted[0], drafted[0]);
    o->passes = drafted[0];
    o->rounds = n > 1 ? drafted[1] : 0.0;
    o->drafted = o->accepted = 0.0;
    for (int j = 1; j < n; j++) {
        if (accepted[j] > drafted[j] || accepted[j] > accepted[j - 1] ||
            drafted[j] > drafted[j - 1])
            return spec_log_bad(record, error,
                                "'accept_count' and 'draft_count' have %.0f of %.0f at %d: "
                                "expected lists that do not rise, accepted at most drafted",
                                accepted[j], drafted[j], j);
        o->drafted += drafted[j];
        o->accepted += accepted[j];
        if (j <= SPEC_OBSERVED_DEPTHS) o->passed[j - 1] = accepted[j];
    }
    o->depths = n - 1 < SPEC_OBSERVED_DEPTHS ? n - 1 : SPEC_OBSERVED_DEPTHS;
    if (n - 1 <= SPEC_OBSERVED_DEPTHS) o->K = n - 1;
    o->rounds_low = o->rounds_high = o->rounds;
    o->emitted = o->passes + o->accepted;
    return GSL_SUCCESS;
}

static int take(const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = place->record;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_TOTAL, record->line);
    double drafted[SPEC_JSON_MEMBER_COUNTS], accepted[SPEC_JSON_MEMBER_COUNTS];
    int n_drafted, n_accepted;
    spec_json_member m[] = {{.key = "draft_count"}, {.key = "accept_count"}, {0}};
    spec_json_member time = {.key = "engine_decode_time_sum"};
    SPEC_TRY(spec_json_member_find(m, place->object, record, error));
    SPEC_TRY(spec_json_member_counts(drafted, &n_drafted, &m[0], record, error));
    SPEC_TRY(spec_json_member_counts(accepted, &n_accepted, &m[1], record, error));
    if (n_drafted != n_accepted)
        SPEC_TRY(spec_log_bad(record, error, "'draft_count' has %d entries, 'accept_count' %d",
                              n_drafted, n_accepted));
    if (n_drafted == 0) goto done;
    SPEC_TRY(take_counts(&o, drafted, accepted, n_drafted, record, error));
    spec_json_member_search(&time, place);
    SPEC_TRY(spec_json_member_real(&o.seconds, &time, record, error));
    place->learned->generation = 0;
    place->learned->gaps = isnan(o.seconds) ? SPEC_LOG_NO_TIMES : 0;
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

static int read_record(void *state, spec_log_learned *learned, const spec_log_record *record,
                       spec_error *error)
{
    (void)state;
    return spec_json_part_each(record, learned, "draft_count", take, error);
}

const spec_log_format spec_reader_mlc_metrics = {
    .name = "mlc-metrics",
    .engine = "mlc",
    .summary = "metrics of MLC's engine in JSON, since its start",
    .generations = (const char *const[]){"draft_count and accept_count", NULL},
    .concerns = concerns,
    .needles = (const char *const[]){"\"accept_count\"", NULL},
    .read = read_record,
};
