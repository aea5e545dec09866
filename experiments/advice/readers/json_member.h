/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_member: members of a JSON object, and the numbers and lists of counts in them.
 * A member is absent if the object has none of its key, or null. Values of another form are refused
 * with spec_log_bad, as "file:line: 'key' is 'value': expected ...". */
#ifndef SPECLAB_JSON_MEMBER_H
#define SPECLAB_JSON_MEMBER_H

#include "experiments/advice/readers/json_part.h"

enum { SPEC_JSON_MEMBER_COUNTS = 1024 }; /* most entries of a list of counts */

/* A member to look for. */
typedef struct {
    const char *key;
    spec_json_part value; /* zeroed before */
} spec_json_member;

/* Find members of an object, in one pass; the list ends with a NULL key. spec_log_bad if the object
 * is malformed, or has one of the keys twice. */
int spec_json_member_find(spec_json_member *members, spec_json_part object,
                          const spec_log_record *record, spec_error *error);

/* Look for an absent member at any depth of the element. It stays absent where another object of
 * the element has counts, because both would take it. */
void spec_json_member_search(spec_json_member *member, const spec_json_place *place);

/* A whole number, at least 0 and below 2^53; NaN if absent. spec_log_bad for another value. */
int spec_json_member_count(double *ret_count, const spec_json_member *member,
                           const spec_log_record *record, spec_error *error);
/* A finite number, at least 0; NaN if absent. spec_log_bad; GSL_ENOMEM. */
int spec_json_member_real(double *ret_real, const spec_json_member *member,
                          const spec_log_record *record, spec_error *error);

/* A list of counts: an array, or an object whose keys are indices and whose other entries are 0.
 * *ret_n = 0 if absent. */
int spec_json_member_counts(double ret_count[SPEC_JSON_MEMBER_COUNTS], int *ret_n,
                            const spec_json_member *member, const spec_log_record *record,
                            spec_error *error);

#endif
