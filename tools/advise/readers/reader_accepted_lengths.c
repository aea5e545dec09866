/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

#include <stdio.h>
#include <string.h>

/* SpecDecode-Bench: each line is a request, and says for every token of the output how many tokens
 * a round that starts there would add (docs/formats.md#accepted-lengths). We replay rounds of K
 * draft tokens. */

/* We read the first of these that a record has. */
#define FIELDS "acc_eagle", "acc_eagle_three", "acc_ngram", "acc"
static const char *const fields[] = {FIELDS, NULL};

SPEC_JSON_CONCERNS(concerns, "acc_eagle", "|", "acc_eagle_three", "|", "acc_ngram", "|", "acc",
                   "acc_len")

/* Rounds begin at the second token, because the first comes from the prefill. */
static int replay(spec_observation *o, const char *key, const json_t *list, int K,
                  const spec_log_record *record, spec_error *error)
{
    const json_t *entry;
    size_t i, next = 1;
    o->rounds = o->accepted = 0.0;
    json_array_foreach(list, i, entry)
    {
        double length;
        SPEC_PASS(spec_json_counts_number(&length, entry, SPEC_JSON_IS_COUNT, key, record, error));
        if (!(length >= 1 && length <= 128))
            return spec_log_bad(record, error,
                                "'%s' has a length %.0f: expected 1 to 128, the bonus token "
                                "included",
                                key, length);
        if (i != next) continue;
        const int accepted = length - 1 < K ? (int)length - 1 : K;
        for (int j = 0; j < accepted; j++) o->passed[j]++;
        o->rounds++;
        o->accepted += accepted;
        next += (size_t)accepted + 1;
    }
    if (json_array_size(list) == 0)
        return spec_log_bad(record, error, "'%s' is not a list of accepted lengths", key);
    o->depths = o->K = K;
    o->drafted = o->rounds * K;
    o->emitted = o->rounds + o->accepted;
    o->rounds_low = o->rounds_high = o->rounds;
    return GSL_SUCCESS;
}

/* Reads the object's first list, and notes any other. */
static int finish(spec_json_counts *c, const spec_json_place *place, spec_error *error)
{
    spec_log_learned *learned = place->learned;
    const char *field = NULL;
    learned->note[0] = '\0';
    for (int i = 0; fields[i] != NULL; i++) {
        if (json_object_get(place->object, fields[i]) == NULL) continue;
        if (field == NULL)
            field = fields[i];
        else
            snprintf(learned->note, sizeof learned->note,
                     "reads %s, not %s; for that one: jq -c 'del(.%s)' FILE", field, fields[i],
                     field);
    }
    const json_t *value = json_object_get(place->object, field);
    const json_t *list = json_is_object(value) ? json_object_get(value, "acc_len") : value;
    const int status = replay(&c->o, field, list, place->record->K, place->record, error);
    c->skip = !(c->o.rounds > 0);
    c->o.label = spec_log_label(field, strlen(field));
    return status;
}

static const spec_json_table table = {
    .key = {FIELDS},
    .kind = SPEC_OBSERVED_REQUEST,
    .finish = finish,
    .fields = &(const spec_json_field){0},
    .needs_K =
        "accepted lengths are valid for any draft length up to 64; choose the one to replay, "
        "as in --current 5"};

SPEC_JSON_READ(read_record, &table)

const spec_log_format spec_reader_accepted_lengths = {
    .name = "specdecode-bench", .engine = "any",
    .summary = "accepted lengths of SpecDecode-Bench, replayed with K draft tokens",
    .generations = SPEC_TEXTS("acc_len by position"),
    .concerns = concerns,
    .needles = SPEC_TEXTS("\"acc_eagle\"", "\"acc_eagle_three\"", "\"acc_ngram\"", "\"acc_len\""),
    .read = read_record};
