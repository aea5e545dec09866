/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prometheus_sample: one sample of the Prometheus text format, NAME{LABELS} VALUE [STAMP].
 * Labels become two hashes: one from the labels that distinguish engines and models, one from all
 * labels. The name is a slice of the record. */
#ifndef SPECLAB_PROMETHEUS_SAMPLE_H
#define SPECLAB_PROMETHEUS_SAMPLE_H

#include "experiments/advice/log_format.h"

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

#endif
