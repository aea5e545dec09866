/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_counts: objects of counts in a JSON record, read with a table of their fields.
 * A record is one JSON value, or a line of text with JSON in it. Only objects with counts and the
 * elements of an array of records are parsed. Engines use their own names and units for rounds,
 * accepted and drafted tokens, but the same identities hold. A field that is null is absent. */
#ifndef SPECLAB_JSON_COUNTS_H
#define SPECLAB_JSON_COUNTS_H

#include "tools/advise/log_format.h"
#include "tools/advise/readers/bench_times.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { SPEC_JSON_DEPTH = 512 }; /* deepest nesting of an object of counts */

typedef struct {
    const char *bytes; /* (n) */
    size_t n;
} spec_json_part;

/* Returns the text after a key and its colon, or NULL if there is no such key. The text may be cut
 * off. In JSON no string can look like a key, because a quote in it is escaped by a backslash. */
const char *spec_json_behind_key(spec_json_part text, const char *key);

/* Return whether the text has this key, or all keys of a list that ends with NULL. "!key" requires
 * that it lacks the key, and "|" begins an alternative. */
bool spec_json_has(const char *bytes, size_t n, const char *key);
bool spec_json_has_all(const char *bytes, size_t n, const char *const *keys);

/* Defines the `concerns` of a format, which accepts records with these keys. */
#define SPEC_JSON_CONCERNS(name, ...)                                                              \
    static bool name(const char *bytes, size_t n)                                                  \
    {                                                                                              \
        return spec_json_has_all(bytes, n, SPEC_TEXTS(__VA_ARGS__));                               \
    }

/* Where an object of counts was found. */
typedef struct {
    const spec_log_record *record;
    spec_log_learned *learned;
    spec_json_part element; /* the record, or the element of its array */
    spec_json_part text;    /* text of the object */
    json_t *object;         /* the object; the key is one of its members */
    bool alone;             /* no other object of the element has the key */
} spec_json_place;

typedef int spec_json_take(const spec_json_place *place, const void *self, spec_error *error);

/* Calls `take` for each object of the record that has the key, in the order of the text. An object
 * inside such an object is skipped if it comes after the key. Fails with spec_log_bad if an object
 * is malformed, nested too deeply or unfinished, or has a key twice or a number beyond a double.
 * Returns GSL_ENOMEM. */
int spec_json_each(const spec_log_record *record, spec_log_learned *learned, const char *key,
                   spec_json_take *take, const void *self, spec_error *error);

/* Returns the value of the first such key in a text, which the caller must json_decref; NULL if
 * there is none or it is malformed. */
json_t *spec_json_find(spec_json_part text, const char *key);

/* ---- Counts ---------------------------------------------------------------------------------- */

enum { SPEC_JSON_ENTRIES = 1024, SPEC_JSON_OTHERS = 5 }; /* maximum entries of a list of counts */

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
    unsigned gaps; /* gaps besides those that the observation shows */
    bool timed;    /* the source reports times, even if this object has none that we can use */
    bool skip;     /* the object is not an observation */
} spec_json_counts;

typedef enum { SPEC_JSON_IS_COUNT, SPEC_JSON_IS_REAL, SPEC_JSON_IS_LIST } spec_json_form;

/* A field. path: from the object, such as "usage.completion_tokens". A path "*key" is a member of
 * the object; if it has none, it is the first of this name in the element, unless another object
 * there has counts too. meaning: a member of spec_json_counts. form: of its value. unit: in units
 * of the member. If several rows have the same meaning, the first field that is present is read. */
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
    /* objects with counts have the first of these keys that is in the record, else the last */
    const char *key[5];
    /* whether counts cover the time since the start, a window or a request */
    spec_observation_kind kind;
    /* an object that gives rounds, accepted or drafted tokens must give all three */
    bool needs_all;
    bool widths_vary; /* drafted is rounds times the last width, so it is not reliable */
    bool streamed;    /* parts of a stream repeat the counts so far; only the last part counts */
    const char *needs_K; /* why the user must give the draft length; NULL: not needed */
    const spec_json_field *fields;
    /* Completes the counts of an object; NULL: there is nothing left to do. */
    int (*finish)(spec_json_counts *counts, const spec_json_place *place, spec_error *error);
} spec_json_table;

/* Reads the objects of a record, and hands over an observation for each, labelled by its model. A
 * histogram also gives K, rounds, drafted, accepted and passed. Fails with spec_log_bad for values
 * of the wrong form, as "file:line: 'key' is 'value': expected ...", and for counts that contradict
 * each other: a histogram and its sums, its length and K, accepted and drafted tokens, drafted
 * tokens and K. Returns GSL_EUNSUP if the draft length is needed and not given. */
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

/* Returns, for messages, the name of the field with this meaning that is present; if none is, the
 * name of the first. */
const char *spec_json_counts_key(const spec_json_place *place, const spec_json_field *fields,
                                 size_t meaning);

/* Reads a number in the form that a field has. Fails with spec_log_bad. */
int spec_json_counts_number(double *ret, const json_t *value, spec_json_form form, const char *key,
                            const spec_log_record *record, spec_error *error);

/* Reads a list of counts: an array, or an object whose keys are indices (missing entries are 0).
 * *ret_n is 0 if the list is NULL. Fails with spec_log_bad. */
int spec_json_counts_list(double ret_count[SPEC_JSON_ENTRIES], int *ret_n, json_t *list,
                          const char *key, const spec_log_record *record, spec_error *error);

/* Sets the tokens of the output, and derives the passes of the target. The first token comes from
 * the prefill, and each pass adds one token to the accepted ones. If that gives fewer passes than
 * rounds, the last round was cut, and passes stay NaN. */
void spec_json_counts_emit(spec_observation *observation, double emitted);

/* Completes a response whose engine counts its tokens, but not always its rounds. Each output token
 * other than the accepted draft tokens takes a pass; without counts of drafts, every token does.
 * Fails with spec_log_bad if only one of accepted and drafted is given, or if more are accepted
 * than emitted. */
int spec_json_counts_by_tokens(spec_json_counts *counts, const spec_json_place *place,
                               const spec_json_field *fields, spec_error *error);

#endif
