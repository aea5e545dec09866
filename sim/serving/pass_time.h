/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pass_time: seconds of one pass of a model, by its tokens and the KV tokens that it reads.
 * Three kinds: affine; a roofline of a card's data sheet, the sum or the larger of its parts; a
 * table of measured times. docs/formats.md#step-costs. Owns its table. */
#ifndef SPECLAB_PASS_TIME_H
#define SPECLAB_PASS_TIME_H

#include "base/settings.h"
#include "sim/serving/time_table.h"

typedef struct {
    /* AFFINE: fixed + token tokens + kv kv_tokens
     * MAX:    fixed + max(weights, token tokens) + kv kv_tokens */
    enum { SPEC_PASS_AFFINE, SPEC_PASS_MAX, SPEC_PASS_TABLE } kind;
    double fixed, token, kv, weights;
    spec_time_table table;
} spec_pass_time;

/* affine?step=0&token=0&kv=0: the time of a step, per token, and per KV token. */
int spec_pass_time_affine(spec_pass_time *time, const spec_settings *settings, spec_error *error);

/* roofline?card=H100&parameters=8.03B&...: compute takes 2 parameters FLOP per token; memory reads
 * the weights once and the cache of each request.
 *
 *     form=sum: overhead + weights + compute + cache            (affine)
 *     form=max: overhead + max(weights, compute) + cache
 *
 * The efficiency is the share of the peak FLOP/s that products reach. Devices share all work. */
extern const char spec_pass_time_roofline_usage[];
int spec_pass_time_roofline(spec_pass_time *time, const spec_settings *settings, spec_error *error);

/* table:FILE?kv=0: as spec_time_table_read; `draft` is the side of a result of bench. */
int spec_pass_time_table(spec_pass_time *time, const spec_settings *settings, bool draft,
                         spec_error *error);
void spec_pass_time_free(spec_pass_time *time);

/* Seconds, > 0 for tokens >= 1. */
double spec_pass_time_seconds(const spec_pass_time *time, double tokens, double kv_tokens);

#endif
