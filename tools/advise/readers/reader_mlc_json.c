/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

SPEC_JSON_CONCERNS(concerns, "draft_count", "accept_count")

/* Takes the counts. MLC counts the target's own token as the first of a draft. So [0] counts all
 * passes, and [j] the passes that drafted, or accepted, at least j tokens. */
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

static int finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    static const char *const key[] = {"draft_count", "accept_count"};
    int n[2];
    double count[2][SPEC_JSON_ENTRIES];
    for (int i = 0; i < 2; i++)
        SPEC_PASS(spec_json_counts_list(count[i], &n[i], c->list[i], key[i], place->record, error));
    if (n[0] != n[1])
        return spec_log_bad(place->record, error, "'%s' has %d entries, '%s' %d", key[0], n[0],
                            key[1], n[1]);
    c->skip = n[0] == 0;
    if (!c->skip) SPEC_PASS(take_counts(&c->o, count[0], count[1], n[0], place->record, error));
    return GSL_SUCCESS;
}

static const spec_json_table table = {
    .key = {"draft_count"}, .kind = SPEC_OBSERVED_TOTAL, .finish = finish,
    .fields = (const spec_json_field[]){
        SPEC_LIST("draft_count", list[0]),
        SPEC_LIST("accept_count", list[1]),
        SPEC_REAL("*engine_decode_time_sum", o.seconds, 1), {0}}};

SPEC_JSON_READ(read_record, &table)

const spec_log_format spec_reader_mlc_metrics = {
    .name = "mlc-metrics", .engine = "mlc",
    .summary = "metrics of MLC's engine in JSON, since its start",
    .generations = SPEC_TEXTS("draft_count and accept_count"),
    .concerns = concerns,
    .needles = SPEC_TEXTS("\"accept_count\""), .read = read_record};
