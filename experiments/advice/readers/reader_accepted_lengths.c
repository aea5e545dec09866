/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/json_member.h"
#include "experiments/advice/readers/readers.h"

#include <stdio.h>
#include <string.h>

/* SpecDecode-Bench: a request per line, with what a round would add at each token of the output
 * (docs/formats.md#accepted-lengths). Rounds of K draft tokens are replayed. */

/* The first of these in a record is read. */
static const char *const fields[] = {"acc_eagle", "acc_eagle_three", "acc_ngram", "acc", NULL};

static bool concerns(const char *bytes, size_t n)
{
    for (int i = 0; i < 3; i++) {
        if (spec_json_part_has(bytes, n, fields[i])) return true;
    }
    return spec_json_part_has(bytes, n, "acc") && spec_json_part_has(bytes, n, "acc_len");
}

static const char *field_of(spec_json_part element, spec_log_learned *learned)
{
    const char *field = NULL;
    learned->note[0] = '\0';
    for (int i = 0; fields[i] != NULL; i++) {
        if (!spec_json_part_has(element.bytes, element.n, fields[i])) continue;
        if (field == NULL) {
            field = fields[i];
        } else {
            snprintf(learned->note, sizeof learned->note,
                     "reads %s, not %s; for that one: jq -c 'del(.%s)' FILE", field, fields[i],
                     field);
        }
    }
    return field;
}

/* Rounds begin at the second token: the first comes from the prefill. */
static int replay(spec_observation *o, const spec_json_member *list, int K,
                  const spec_log_record *record, spec_error *error)
{
    spec_json_member entry = {.key = list->key};
    size_t at = 0;
    int64_t n = 0, next = 1;
    o->rounds = o->accepted = 0.0;
    for (; spec_json_part_next(&entry.value, list->value, &at); n++) {
        double length;
        const int status = spec_json_member_count(&length, &entry, record, error);
        if (status != GSL_SUCCESS) return status;
        if (!(length >= 1 && length <= 128))
            return spec_log_bad(record, error,
                                "'%s' has a length %.0f: expected 1 to 128, the bonus token "
                                "included",
                                list->key, length);
        if (n != next) continue;
        const int accepted = length - 1 < K ? (int)length - 1 : K;
        for (int j = 0; j < accepted; j++) o->passed[j]++;
        o->rounds++;
        o->accepted += accepted;
        next += accepted + 1;
    }
    if (n == 0 || !spec_json_part_ends(list->value, at))
        return spec_log_bad(record, error, "'%s' is no list of accepted lengths", list->key);
    o->depths = o->K = K;
    o->drafted = o->rounds * K;
    o->emitted = o->rounds + o->accepted;
    o->rounds_low = o->rounds_high = o->rounds;
    return GSL_SUCCESS;
}

static int take(const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = place->record;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    const char *field = field_of(place->object, place->learned);
    spec_json_member m[] = {{.key = field}, {0}}, list[] = {{.key = "acc_len"}, {0}};
    SPEC_TRY(spec_json_member_find(m, place->object, record, error));
    if (m[0].value.bytes != NULL && *m[0].value.bytes == '{') {
        SPEC_TRY(spec_json_member_find(list, m[0].value, record, error));
        m[0].value = list[0].value;
    }
    SPEC_TRY(replay(&o, &m[0], record->K, record, error));
    o.label = spec_log_label(field, strlen(field));
    place->learned->generation = 0;
    place->learned->gaps = SPEC_LOG_NO_TIMES;
    if (o.rounds > 0) SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

static int read_record(void *state, spec_log_learned *learned, const spec_log_record *record,
                       spec_error *error)
{
    (void)state;
    if (record->K < 1 || record->K > SPEC_OBSERVED_DEPTHS)
        return spec_fail(error, GSL_EUNSUP,
                         "%.150s: accepted lengths serve any draft length up to %d: choose the one "
                         "to replay, as in --current 5",
                         record->file, SPEC_OBSERVED_DEPTHS);
    const char *field = field_of((spec_json_part){record->bytes, record->n}, learned);
    return spec_json_part_each(record, learned, field, take, error);
}

const spec_log_format spec_reader_accepted_lengths = {
    .name = "specdecode-bench",
    .engine = "any",
    .summary = "accepted lengths of SpecDecode-Bench, replayed with K draft tokens",
    .generations = (const char *const[]){"acc_len by position", NULL},
    .concerns = concerns,
    .needles = (const char *const[]){"\"acc_eagle\"", "\"acc_eagle_three\"", "\"acc_ngram\"",
                                     "\"acc_len\"", NULL},
    .read = read_record,
};
