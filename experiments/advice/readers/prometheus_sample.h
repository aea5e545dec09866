/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prometheus_sample: one sample of the Prometheus text format, NAME{LABELS} VALUE [STAMP].
 * Its labels become two hashes: one of those that tell engines and models apart, one of all. The
 * name is a slice of the record. */
#ifndef SPECLAB_PROMETHEUS_SAMPLE_H
#define SPECLAB_PROMETHEUS_SAMPLE_H

#include "experiments/advice/log_format.h"

typedef struct {
    const char *name; /* (n) */
    size_t n;
    uint64_t label;  /* of model, engine, instance and so on, in any order; 0 without any */
    uint64_t series; /* of the name and all labels but position */
    int position;    /* label of this name; -1 without one */
    double value;    /* NaN and infinities too */
    double stamp;    /* seconds of the Unix epoch; NaN without one */
} spec_prometheus_sample;

/* Does a sample of a metric whose name begins with the prefix begin here? */
bool spec_prometheus_sample_begins(const char *bytes, size_t n, const char *prefix);

/* The record as a sample. GSL_EINVAL with spec_log_bad. Numbers have a decimal point in any locale.
 */
int spec_prometheus_sample_read(spec_prometheus_sample *ret, const spec_log_record *record,
                                spec_error *error);

#endif
