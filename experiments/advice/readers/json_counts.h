/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_counts: the counts and times of JSON objects, read by a table of their fields.
 * Engines have their own names and units for rounds, accepted and drafted tokens; the identities
 * between these numbers are the same. A field is absent if it is missing or null. */
#ifndef SPECLAB_JSON_COUNTS_H
#define SPECLAB_JSON_COUNTS_H

#include "experiments/advice/readers/bench_times.h"
#include "experiments/advice/readers/json_record.h"

#include <stddef.h>

enum { SPEC_JSON_ENTRIES = 1024, SPEC_JSON_OTHERS = 4 }; /* maximum entries of a list of counts */

/* Values of the fields of an object; NaN and NULL: absent. */
typedef struct {
    spec_observation o;
    spec_bench_times times;         /* times of a benchmark's client */
    double K;                       /* maximum draft tokens of a round */
    json_t *histogram;              /* [i]: rounds that accepted i draft tokens */
    json_t *lengths;                /* the same, where i counts the round's own token too */
    json_t *list[3];                /* lists that the format names */
    double other[SPEC_JSON_OTHERS]; /* numbers that the format names */
    int generation;
    unsigned gaps; /* besides those that the observation shows */
    bool timed;    /* the source has times, although none in this object count */
    bool skip;     /* the object is not an observation */
} spec_json_counts;

typedef enum { SPEC_JSON_IS_COUNT, SPEC_JSON_IS_REAL, SPEC_JSON_IS_LIST } spec_json_form;

/* A field: its path from the object, as "usage.completion_tokens"; its meaning, a member of
 * spec_json_counts; its form; its unit, in units of the member. A path "*key" is a member of the
 * object or, if it has none, the first of this name in the element, unless another object there has
 * counts too. Of several rows with the same meaning, the first that is present is read. */
typedef struct {
    const char *path; /* NULL ends a table */
    size_t meaning;
    spec_json_form form;
    double unit;
} spec_json_field;

#define SPEC_JSON_MEANS(member) offsetof(spec_json_counts, member)
#define SPEC_COUNT(path, member)                                                                   \
    {                                                                                              \
        path, SPEC_JSON_MEANS(member), SPEC_JSON_IS_COUNT, 1.0                                     \
    }
#define SPEC_REAL(path, member, unit)                                                              \
    {                                                                                              \
        path, SPEC_JSON_MEANS(member), SPEC_JSON_IS_REAL, unit                                     \
    }
#define SPEC_LIST(path, member)                                                                    \
    {                                                                                              \
        path, SPEC_JSON_MEANS(member), SPEC_JSON_IS_LIST, 1.0                                      \
    }

typedef struct {
    const char *key;            /* key that objects of counts have */
    spec_observation_kind kind; /* whether they count since a start, in a window or in a request */
    bool needs_all;   /* if one of rounds, accepted and drafted tokens is given, all three are */
    bool widths_vary; /* drafted is rounds times the last width: it proves nothing */
    bool streamed;    /* parts of a stream before the last one repeat the counts so far */
    const spec_json_field *fields;
    /* Completes the counts of an object; NULL: there is nothing left to do. */
    int (*finish)(spec_json_counts *counts, const spec_json_place *place, spec_error *error);
} spec_json_table;

/* Reads the objects of a record, and hands over an observation for each, labelled by its model. K,
 * rounds, drafted, accepted and passed follow from a histogram too. Fails with spec_log_bad for
 * values of the wrong form, as "file:line: 'key' is 'value': expected ...", and for counts that
 * contradict each other: a histogram's sums, its length and K, accepted and drafted tokens, drafted
 * tokens and K. */
int spec_json_counts_each(const spec_log_record *record, spec_log_learned *learned,
                          const spec_json_table *table, spec_error *error);

/* Defines the `read` of a format without state. */
#define SPEC_JSON_READ(name, table)                                                                \
    static int name(void *state, spec_log_learned *learned, const spec_log_record *record,         \
                    spec_error *error)                                                             \
    {                                                                                              \
        (void)state;                                                                               \
        return spec_json_counts_each(record, learned, table, error);                               \
    }

/* Returns the name of the field with this meaning that is present, else of the first one, for
 * messages. */
const char *spec_json_counts_key(const spec_json_place *place, const spec_json_field *fields,
                                 size_t meaning);

/* Reads a number in the form of a field. Fails with spec_log_bad. */
int spec_json_counts_number(double *ret, const json_t *value, spec_json_form form, const char *key,
                            const spec_log_record *record, spec_error *error);

/* Reads a list of counts: an array, or an object whose keys are indices and whose missing entries
 * are 0. *ret_n = 0 if it is NULL. Fails with spec_log_bad. */
int spec_json_counts_list(double ret_count[SPEC_JSON_ENTRIES], int *ret_n, json_t *list,
                          const char *key, const spec_log_record *record, spec_error *error);

/* Sets tokens of the output, and from them the passes of the target. The first token comes from the
 * prefill, and a pass adds one token to the accepted ones. Passes stay NaN if they are fewer than
 * rounds, because the last round was cut. */
void spec_json_counts_emit(spec_observation *observation, double emitted);

/* Completes a response whose engine counts its tokens, but not always its rounds. Tokens that are
 * not accepted drafts take a pass each; without counts of drafts, all tokens do. Fails with
 * spec_log_bad if only one of accepted and drafted is given, or if more are accepted than
 * emitted. */
int spec_json_counts_by_tokens(spec_json_counts *counts, const spec_json_place *place,
                               const spec_json_field *fields, spec_error *error);

#endif
