/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pass_time: seconds of one pass of a model, by its tokens and the KV tokens that it reads.
 * A pass time is affine, or a roofline from a card's data sheet (either the sum or the larger of
 * its parts), or a table of measured times. docs/formats.md#step-costs. Owns its table. */
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
     *     weights(n) = weights + experts (1 - unused^n)
     *         docs/formulas/costs.md#roofline-of-steps */
    enum { SPEC_PASS_AFFINE, SPEC_PASS_SUM, SPEC_PASS_MAX, SPEC_PASS_TABLE } kind;
    double fixed, token, kv;
    double overhead; /* roofline: the part of `fixed` in which nothing is read or computed */
    double weights;  /* s to read the weights that every token uses */
    double experts;  /* s to read all experts; 0: a dense model */
    double unused;   /* the chance that a token does not use an expert, 1 - active/experts */
    spec_time_table table;
    /* roofline: bytes of all cards, of the weights, and of a KV token; 0: unknown */
    double memory, weight_bytes, kv_bytes;
    double step_se; /* standard error of a fitted `step`, s; NaN or 0: none */
    char note[192]; /* a note about a fit, or "" */
} spec_pass_time;

/* Reads affine?step=0&token=0&kv=0: the time per step, per token, and per KV token. */
int spec_pass_time_affine(spec_pass_time *time, const spec_settings *settings, spec_error *error);

/* What a draft costs apart from its passes. A time per call in the target's spec is the default for
 * the draft's; NaN means the value of the card. */
typedef struct {
    double call, round; /* in s: call per draft call, round per step that drafts */
    bool one_call;      /* drafts all tokens in one pass */
} spec_draft_times;

/* Reads roofline?card=H100&parameters=8.03B&... Products take 2 FLOP per active parameter and
 * token. Memory reads the weights once and the cache of each request. With a mixture of experts it
 * reads every expert that at least one token uses (docs/formulas/costs.md#experts).
 *
 *     form=sum: overhead + weights + products + cache            (affine, if dense)
 *     form=max: overhead + max(weights, products) + cache
 *
 * Weights and cache are read at `efficiency` times the bandwidth, and products run at `compute`
 * times the peak. Several devices share all work equally. If the spec leaves out efficiency,
 * compute or overhead, the card's values apply; a machine given only by flops= and bandwidth= has
 * 1, 1 and 0. With plain=, the measured time of a pass of one token, the overhead is what remains
 * of that time; if nothing remains, it is 0 and everything else is scaled to be faster. With
 * `opt_given` this is a draft's pass: the overhead is per call, and the times go to *draft.
 * Otherwise *draft gets what the spec says about drafts. */
extern const char spec_pass_time_roofline_usage[];
extern const char spec_pass_time_roofline_draft_usage[];
int spec_pass_time_roofline(spec_pass_time *time, spec_draft_times *draft,
                            const spec_settings *settings, const spec_draft_times *opt_given,
                            spec_error *error);

/* Writes the roofline settings that a spec leaves out, with their values:
 * "kv_bytes=0,overhead=1ms". The text is empty if the spec is wrong. Engines reach only part of
 * what a card promises, and how much is uncertain: `corner` -1 takes central values, and corners 0
 * to 31 take one end of each range. A set bit chooses the worst end: bit 0 is for efficiency, 1
 * compute, 2 overhead, 3 time per draft call, 4 time per step that drafts. Returns whether any of
 * these settings is uncertain. */
bool spec_pass_time_roofline_defaults(char *ret_text, size_t size, const spec_settings *settings,
                                      bool draft, int corner);

/* Reads fit:FILE: fits a time to the points of the file (spec_pass_fit_points). Without other keys
 * the result is affine, and the file needs two batch sizes. With the keys of a roofline, the
 * roofline gives the times that the points cannot tell apart: with one point its overhead is
 * fitted, as with plain=; with experts or form=max, the mean overhead is fitted. step=low and
 * step=high take the ends of a 95 % interval, if there is one. */
extern const char spec_pass_time_fit_usage[];
extern const char spec_pass_time_fit_draft_usage[];
int spec_pass_time_fit(spec_pass_time *time, spec_draft_times *draft, const spec_settings *settings,
                       const spec_draft_times *opt_given, spec_error *error);

/* Reads table:FILE?kv=0 with spec_time_table_read; `draft` chooses the draft's side of a result of
 * bench. */
int spec_pass_time_table(spec_pass_time *time, const spec_settings *settings, bool draft,
                         spec_error *error);
void spec_pass_time_free(spec_pass_time *time);

/* Returns seconds, > 0 for tokens >= 1. */
double spec_pass_time_seconds(const spec_pass_time *time, double tokens, double kv_tokens);

#endif
