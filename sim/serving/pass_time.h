/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pass_time: seconds of one pass of a model, by its tokens and the KV tokens that it reads.
 * Three kinds: affine; a roofline of a card's data sheet, the sum or the larger of its parts; a
 * table of measured times. docs/formats.md#step-costs. Owns its table. */
#ifndef SPECLAB_PASS_TIME_H
#define SPECLAB_PASS_TIME_H

#include "base/settings.h"
#include "sim/serving/time_table.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    /* AFFINE: fixed + token tokens + kv kv_tokens
     * SUM:    fixed + weights(tokens) + token tokens + kv kv_tokens
     * MAX:    fixed + max(weights(tokens), token tokens) + kv kv_tokens
     *
     *     weights(n) = weights + experts (1 - unused^n)       docs/formulas.md#roofline-of-steps */
    enum { SPEC_PASS_AFFINE, SPEC_PASS_SUM, SPEC_PASS_MAX, SPEC_PASS_TABLE } kind;
    double fixed, token, kv;
    double overhead; /* the part of `fixed` in which nothing is read or computed; roofline */
    double weights;  /* s to read the weights that every token uses */
    double experts;  /* s to read all experts; 0: a dense model */
    double unused;   /* the chance that a token does not use an expert, 1 - active/experts */
    spec_time_table table;
    double step_se; /* of a fitted step, s; NaN or 0: none */
    char note[192]; /* about a fit; "" */
} spec_pass_time;

/* affine?step=0&token=0&kv=0: the time of a step, per token, and per KV token. */
int spec_pass_time_affine(spec_pass_time *time, const spec_settings *settings, spec_error *error);

/* Times of a draft around its passes. In the target's spec the time per call is the default of a
 * draft's; NaN: the card's. */
typedef struct {
    double call, round; /* s per call, and per step that drafts */
    bool one_call;      /* drafts all tokens in one pass */
} spec_draft_times;

/* roofline?card=H100&parameters=8.03B&...: products take 2 FLOP per active parameter and token;
 * memory reads the weights once and the cache of each request. Of a mixture of experts it reads the
 * experts that any of the tokens uses (docs/formulas.md#experts).
 *
 *     form=sum: overhead + weights + products + cache            (affine, if dense)
 *     form=max: overhead + max(weights, products) + cache
 *
 * Weights and cache are read with the share `efficiency` of the bandwidth, products reach the share
 * `compute` of the peak. Devices share all work. Without these and an overhead they are the card's;
 * a machine of flops= and bandwidth= alone has 1, 1 and 0. With plain=, the measured time of a pass
 * of one token, the overhead is the rest of it; without a rest it is 0, and all is faster. With
 * `opt_given` it is a draft's pass: the overhead is per call, and its times go to *draft; else
 * *draft has what the spec says of drafts. */
extern const char spec_pass_time_roofline_usage[];
extern const char spec_pass_time_roofline_draft_usage[];
int spec_pass_time_roofline(spec_pass_time *time, spec_draft_times *draft,
                            const spec_settings *settings, const spec_draft_times *opt_given,
                            spec_error *error);

/* The settings of a roofline that a spec leaves out, with their values: "kv_bytes=0,overhead=1ms".
 * `corner` -1 takes the central values of what engines reach of a card. Corners 0 to 31 take one
 * end of each: bit 0 the worst efficiency, 1 compute, 2 overhead, 3 time per call of a draft, 4
 * time per step that drafts. Returns whether any of them is uncertain. Empty if the spec is wrong.
 */
bool spec_pass_time_roofline_defaults(char *ret_text, size_t size, const spec_settings *settings,
                                      bool draft, int corner);

/* fit:FILE: spec_pass_fit_points of spec_pass_points_read. Alone it is affine, and needs two batch
 * sizes. With the keys of a roofline, that gives the times which the points do not tell apart: with
 * one point its overhead is fitted, as plain= does; with experts, or form=max, the mean overhead.
 * step=low and step=high are the ends of a 95 % interval, where there is one. */
extern const char spec_pass_time_fit_usage[];
extern const char spec_pass_time_fit_draft_usage[];
int spec_pass_time_fit(spec_pass_time *time, spec_draft_times *draft, const spec_settings *settings,
                       const spec_draft_times *opt_given, spec_error *error);

/* table:FILE?kv=0: as spec_time_table_read; `draft` is the side of a result of bench. */
int spec_pass_time_table(spec_pass_time *time, const spec_settings *settings, bool draft,
                         spec_error *error);
void spec_pass_time_free(spec_pass_time *time);

/* Seconds, > 0 for tokens >= 1. */
double spec_pass_time_seconds(const spec_pass_time *time, double tokens, double kv_tokens);

#endif
