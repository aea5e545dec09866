/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_format: the table of the logs, metrics and responses of engines that `advise` reads.
 * A format is one file in experiments/advice/readers and one line of log_formats_table.c. A record
 * is a line of text, or one JSON value that may span lines. Readers do no input of their own. */
#ifndef SPECLAB_LOG_FORMAT_H
#define SPECLAB_LOG_FORMAT_H

#include "experiments/advice/observation.h"

#include <stdbool.h>
#include <stddef.h>

/* One record, and where its observations go. */
typedef struct {
    const char *bytes; /* (n), and a zero byte */
    size_t n;
    const char *file;
    uint64_t line; /* of its first byte */
    int K;         /* the user's draft length, 1 or more; -1: not given */
    double time;   /* of the newest line "# time SECONDS" above; 0: none; NaN: malformed */
    const spec_observer *observer;
} spec_log_record;

/* Things that a source leaves open, for the report to say what to switch on. */
typedef enum {
    SPEC_LOG_NO_ROUNDS = 1,    /* the number of rounds follows from K alone */
    SPEC_LOG_NO_DEPTHS = 2,    /* nothing by depth */
    SPEC_LOG_NO_TIMES = 4,     /* no seconds */
    SPEC_LOG_ROUNDED = 8,      /* rounded means alone, no counts */
    SPEC_LOG_OLD_MEANING = 16, /* a generation whose numbers mean something else: see the format */
    SPEC_LOG_TREE = 32,        /* drafted counts nodes of trees */
} spec_log_gap;

/* Knowledge of a reader about its file, which grows while it reads. */
typedef struct {
    int generation; /* index into the format's generations, the newest that was seen; -1 */
    unsigned gaps;  /* of spec_log_gap, of the newest observation */
    char note[160]; /* a remark for the user, such as names of counters that are not known */
} spec_log_learned;

typedef struct {
    const char *name;    /* "vllm-log" */
    const char *engine;  /* "vllm": the key of the settings (engine_settings.h) */
    const char *summary; /* the output that it reads */
    /* Versions of the output, oldest first, such as "0.4 to 0.8 (V0)"; NULL-terminated. */
    const char *const *generations;
    /* May the record be of this format? Cheap, and strict enough that no record of another format
     * answers yes. */
    bool (*concerns)(const char *bytes, size_t n);
    /* Texts of 3 bytes or more, NULL-terminated. Every record of the format contains one of these
     * texts; `concerns` is not called for other records. NULL: it is called for all records. */
    const char *const *needles;
    size_t state_size; /* zeroed at the beginning of a file */
    /* Read a record that concerns the format; call observer->take 0 or more times. GSL_EINVAL with
     * spec_log_bad if it has the words but not the form: later records are still read.
     * GSL_EUNSUP with one line if the source cannot answer. */
    int (*read)(void *state, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error);
    /* The file ends: hand over what waits for a companion line. NULL: nothing waits. */
    int (*end)(void *state, spec_log_learned *learned, const spec_log_record *last,
               spec_error *error);
} spec_log_format;

extern const spec_log_format *const spec_log_formats[]; /* NULL-terminated */

/* Fails with "file:line: ..."; returns GSL_EINVAL. */
__attribute__((format(printf, 3, 4))) int spec_log_bad(const spec_log_record *record,
                                                       spec_error *error, const char *format, ...);

/* Does the record contain these bytes? The first place, or NULL. */
const char *spec_log_find(const char *bytes, size_t n, const char *needle);

/* Hash of a text for `label`; never 0. */
uint64_t spec_log_label(const char *bytes, size_t n);

#endif
