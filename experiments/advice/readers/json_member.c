/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/json_member.h"

#include "base/json_memory.h"
#include "speclab/no_memory.h"

#include <string.h>

/* Bytes of the longest number, and of a value in a message. */
enum { LONGEST = 64, SHOWN = 40 };
static const double MOST = 9007199254740992.0; /* 2^53 */

static int take_member(spec_json_member *members, spec_json_part key, spec_json_part value,
                       const spec_log_record *record, spec_error *error)
{
    for (spec_json_member *m = members; m->key != NULL; m++) {
        if (!spec_json_part_is(key, m->key)) continue;
        if (m->value.bytes != NULL)
            return spec_log_bad(record, error, "the key '%s' is twice in a JSON object", m->key);
        m->value = value;
    }
    return GSL_SUCCESS;
}

static void drop_null(spec_json_member *member)
{
    if (spec_json_part_is(member->value, "null")) member->value = (spec_json_part){0};
}

int spec_json_member_find(spec_json_member *members, spec_json_part object,
                          const spec_log_record *record, spec_error *error)
{
    spec_json_part key, value;
    size_t at = 0;
    while (spec_json_part_next_member(&key, &value, object, &at)) {
        const int status = take_member(members, key, value, record, error);
        if (status != GSL_SUCCESS) return status;
    }
    if (!spec_json_part_ends(object, at) || *object.bytes != '{')
        return spec_log_bad(record, error, "malformed JSON object '%.*s'",
                            (int)(object.n < SHOWN ? object.n : SHOWN), object.bytes);
    for (spec_json_member *m = members; m->key != NULL; m++) drop_null(m);
    return GSL_SUCCESS;
}

void spec_json_member_search(spec_json_member *member, const spec_json_place *place)
{
    if (member->value.bytes != NULL || !place->alone) return;
    member->value = spec_json_part_find(place->element, member->key);
    drop_null(member);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int bad_value(const spec_json_member *member, spec_json_part value, const char *expected,
                     const spec_log_record *record, spec_error *error)
{
    return spec_log_bad(record, error, "'%s' is '%.*s': expected %s", member->key,
                        (int)(value.n < SHOWN ? value.n : SHOWN), value.bytes, expected);
}

/* Digits alone, as most counts have; false: another form. */
static bool short_count(double *ret_count, spec_json_part value)
{
    uint64_t count = 0;
    if (value.n == 0 || value.n > 15 || (value.n > 1 && *value.bytes == '0')) return false;
    for (size_t i = 0; i < value.n; i++) {
        if (value.bytes[i] < '0' || value.bytes[i] > '9') return false;
        count = 10 * count + (uint64_t)(value.bytes[i] - '0');
    }
    *ret_count = (double)count;
    return true;
}

/* Any number of JSON; NaN: another value. */
static int number(double *ret_number, spec_json_part value, const spec_log_record *record,
                  spec_error *error)
{
    *ret_number = NAN;
    if (value.n > LONGEST) return GSL_SUCCESS;
    json_t *root = spec_json_load(value.bytes, value.n, JSON_DECODE_ANY, NULL);
    if (spec_json_lost()) return spec_no_memory_for(error, record->file);
    if (json_is_number(root)) *ret_number = json_number_value(root);
    json_decref(root);
    return GSL_SUCCESS;
}

static int count_of(double *ret_count, const spec_json_member *member, spec_json_part value,
                    const spec_log_record *record, spec_error *error)
{
    if (short_count(ret_count, value)) return GSL_SUCCESS;
    const int status = number(ret_count, value, record, error);
    if (status != GSL_SUCCESS) return status;
    if (*ret_count >= 0 && *ret_count < MOST && floor(*ret_count) == *ret_count) return GSL_SUCCESS;
    *ret_count = NAN;
    return bad_value(member, value, "a whole number, at least 0 and below 2^53", record, error);
}

int spec_json_member_count(double *ret_count, const spec_json_member *member,
                           const spec_log_record *record, spec_error *error)
{
    *ret_count = NAN;
    if (member->value.bytes == NULL) return GSL_SUCCESS;
    return count_of(ret_count, member, member->value, record, error);
}

int spec_json_member_real(double *ret_real, const spec_json_member *member,
                          const spec_log_record *record, spec_error *error)
{
    *ret_real = NAN;
    if (member->value.bytes == NULL) return GSL_SUCCESS;
    const int status = number(ret_real, member->value, record, error);
    if (status != GSL_SUCCESS || *ret_real >= 0) return status;
    *ret_real = NAN;
    return bad_value(member, member->value, "a number, at least 0", record, error);
}

/* {"0": 39, "3": 3}: the entries of the list that are not 0. */
static int sparse_counts(double *count, int *ret_n, const spec_json_member *member,
                         const spec_log_record *record, spec_error *error)
{
    static const char form[] = "counts by index, as {\"0\": 39, \"3\": 3}";
    const spec_json_part object = member->value;
    spec_json_part key, value;
    size_t at = 0;
    double index;
    while (spec_json_part_next_member(&key, &value, object, &at)) {
        if (!short_count(&index, key) || index >= SPEC_JSON_MEMBER_COUNTS)
            return bad_value(member, object, form, record, error);
        for (; *ret_n <= (int)index; (*ret_n)++) count[*ret_n] = NAN;
        if (!isnan(count[(int)index])) return bad_value(member, object, form, record, error);
        const int status = count_of(&count[(int)index], member, value, record, error);
        if (status != GSL_SUCCESS) return status;
    }
    if (!spec_json_part_ends(object, at)) return bad_value(member, object, form, record, error);
    for (int i = 0; i < *ret_n; i++) {
        if (isnan(count[i])) count[i] = 0;
    }
    return GSL_SUCCESS;
}

int spec_json_member_counts(double ret_count[SPEC_JSON_MEMBER_COUNTS], int *ret_n,
                            const spec_json_member *member, const spec_log_record *record,
                            spec_error *error)
{
    const spec_json_part list = member->value;
    *ret_n = 0;
    if (list.bytes == NULL) return GSL_SUCCESS;
    if (*list.bytes == '{') return sparse_counts(ret_count, ret_n, member, record, error);
    if (*list.bytes != '[') return bad_value(member, list, "a list of counts", record, error);
    spec_json_part element;
    size_t at = 0;
    while (spec_json_part_next(&element, list, &at)) {
        if (*ret_n == SPEC_JSON_MEMBER_COUNTS)
            return spec_log_bad(record, error, "'%s' has more than %d entries", member->key,
                                SPEC_JSON_MEMBER_COUNTS);
        const int status = count_of(&ret_count[(*ret_n)++], member, element, record, error);
        if (status != GSL_SUCCESS) return status;
    }
    if (!spec_json_part_ends(list, at))
        return bad_value(member, list, "a list of counts", record, error);
    return GSL_SUCCESS;
}
