/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_passes: times how long a model takes for passes of n tokens at the end of a text.
 * Each pass reads the last n tokens of the text again. The KV cache is rolled back between passes,
 * as after a rejected draft. A draft head's pass reads n new tokens of the context, and the target
 * computes their states beforehand, untimed. The results are sums, so means include outliers, as in
 * a real run. */
#ifndef SPECLAB_TIMING_PASSES_H
#define SPECLAB_TIMING_PASSES_H

#include "base/clock.h"
#include "models/chain.h"

#include <gsl/gsl_rng.h>

/* The maximum number of widths, and how often a visit times each. */
enum { SPEC_TIMING_WIDTHS_MAX = 128, SPEC_TIMING_PASS_REPEATS = 2 };

/* experts: how many the passes read (spec_transformer_session_experts). */
typedef struct {
    double n, seconds, experts;
} spec_timing_sum;

enum { SPEC_TIMING_SUM = sizeof(spec_timing_sum) / sizeof(double) }; /* how many numbers a
                                                                        spec_timing_sum has */

typedef struct {
    const spec_model *model;
    spec_session session;
    spec_session target; /* used if the model reads its target's states; otherwise zeroed */
    int n_widths;
    const int *width;   /* (n_widths) borrowed */
    const double **row; /* (widest) */
    double *store;      /* (widest, V) */
    spec_chain chain;   /* for passes whose rows stay on the device; K = 0 if unused */
} spec_timing_passes;

/* Prepares to time a model. If the model reads its target's states, opt_target is that target.
 * opt_session is the session to use, which must outlive the passes; if it is NULL they open their
 * own. With on_device, rows stay on the device, as they do when it verifies chains. */
int spec_timing_passes_init(spec_timing_passes *passes, const spec_model *model,
                            const spec_model *opt_target, const spec_session *opt_session,
                            const int *width, int n_widths, bool on_device, spec_error *error);
void spec_timing_passes_free(spec_timing_passes *passes);

/* Catches up with the text, untimed. Then times every width that fits into the text, in a random
 * order drawn with `rng`, and adds to sum (n_widths). If opt_pick is given, also adds to it the
 * time to draw a token from the row, on the device that holds the row. */
int spec_timing_passes_visit(spec_timing_passes *passes, spec_timing_sum *sum,
                             spec_timing_sum *opt_pick, const int *text, size_t n,
                             const spec_clock *clock, gsl_rng *rng, spec_error *error);

/* Adds to sum the time of a draft call, pass and draw, for which the host does not wait: the time
 * of a draft of two tokens less that of one. Adds nothing if drafts are drawn on the host, or have
 * at most one token. */
int spec_timing_passes_queued(spec_timing_passes *passes, spec_timing_sum *sum, const int *text,
                              size_t n, const spec_clock *clock, gsl_rng *rng, spec_error *error);

#endif
