/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prometheus_scrape: samples of the Prometheus text format, and the totals that a scrape gives.
 * A file may have several scrapes: the next one begins when a series repeats, or at a new time. A
 * table per engine names its counters and gauges. A zeroed struct has seen no sample. */
#ifndef SPECLAB_PROMETHEUS_SCRAPE_H
#define SPECLAB_PROMETHEUS_SCRAPE_H

#include "tools/advise/log_format.h"

/* One sample, NAME{LABELS} VALUE [STAMP]. */
typedef struct {
    const char *name; /* (n) */
    size_t n;
    uint64_t label;  /* hash of model, engine, instance and so on, in any order; 0: none */
    uint64_t series; /* hash of the name and all labels but position */
    int position;    /* value of the label `position`; -1 if there is none */
    double value;    /* may be NaN or infinite */
    double stamp;    /* seconds since 1970; NaN without a stamp */
} spec_prometheus_sample;

/* Returns whether the text begins with a sample of a metric whose name has this prefix. */
bool spec_prometheus_sample_begins(const char *bytes, size_t n, const char *prefix);

/* Reads the record as a sample. Numbers have a decimal point in any locale. Returns GSL_EINVAL with
 * spec_log_bad. */
int spec_prometheus_sample_read(spec_prometheus_sample *ret, const spec_log_record *record,
                                spec_error *error);

/* Numbers of a scrape. Counts, which are whole, come before COUNTERS. */
enum {
    SPEC_SCRAPE_ROUNDS,
    SPEC_SCRAPE_DRAFTED,
    SPEC_SCRAPE_ACCEPTED,
    SPEC_SCRAPE_PASSED, /* by position */
    SPEC_SCRAPE_EMITTED,
    SPEC_SCRAPE_EMITTED_BY_ROUNDS, /* V0 of vLLM */
    SPEC_SCRAPE_FIRST,             /* first tokens of requests, which come from prefills */
    SPEC_SCRAPE_TIMED,             /* passes or tokens during SECONDS */
    SPEC_SCRAPE_BATCHES,           /* steps of the engine */
    SPEC_SCRAPE_COUNTERS,
    SPEC_SCRAPE_SECONDS = SPEC_SCRAPE_COUNTERS, /* seconds of decoding, summed over requests */
    SPEC_SCRAPE_RUNNING,
    SPEC_SCRAPE_BUSY, /* mean of running requests, over decoding calls */
    SPEC_SCRAPE_LENGTH,
    SPEC_SCRAPE_RATE,
    SPEC_SCRAPE_EFFICIENCY, /* emitted / (rounds (K + 1)) */
    SPEC_SCRAPE_STEPS,      /* K */
    SPEC_SCRAPE_NODES,      /* nodes of a draft tree, including its root */
    SPEC_SCRAPE_SLOTS
};

typedef struct {
    const char *name; /* without the prefix, and without "_total" */
    int slot;
} spec_prometheus_name;

/* Maximum engines and models in a file. */
enum { SPEC_SCRAPE_LABELS = 256 };

/* The numbers of one engine or model. */
typedef struct {
    uint64_t label;
    unsigned seen; /* bit per slot */
    uint64_t seen_passed;
    double value[SPEC_SCRAPE_SLOTS], passed[SPEC_OBSERVED_DEPTHS];
    uint64_t series[SPEC_SCRAPE_SLOTS];
    uint64_t line; /* line of the newest sample */
    double created, stamp;
} spec_prometheus_label;

typedef struct {
    int n, last;
    double time; /* time of the scrape, from a comment; 0: none */
    spec_prometheus_label label[SPEC_SCRAPE_LABELS];
} spec_prometheus_scrape;

/* An engine's names, and what they mean. */
typedef struct {
    const char *prefix;                /* prefix of names */
    const spec_prometheus_name *names; /* ends with a NULL name */
    /* Completes an observation that has the numbers of the scrape; absent ones are NaN. The line of
     * `record` is that of the newest sample. */
    int (*finish)(spec_observation *o, spec_log_learned *learned, const spec_prometheus_label *s,
                  const spec_log_record *record, spec_error *error);
} spec_prometheus_source;

/* Returns the number of a slot; NaN: the scrape has none. */
double spec_prometheus_scrape_value(const spec_prometheus_label *label, int slot);

/* Reads a record that is a sample of the source. If this ends a scrape, hands over its totals.
 * Unknown names that concern speculation go into learned->note. */
int spec_prometheus_scrape_read(spec_prometheus_scrape *scrape,
                                const spec_prometheus_source *source, spec_log_learned *learned,
                                const spec_log_record *record, spec_error *error);

/* At the end of the file, hands over the last scrape. */
int spec_prometheus_scrape_end(spec_prometheus_scrape *scrape, const spec_prometheus_source *source,
                               spec_log_learned *learned, const spec_log_record *last,
                               spec_error *error);

#endif
