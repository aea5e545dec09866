/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_passes: times passes of n tokens, for a model at the end of a text.
 * The tokens are the text's own last ones. The KV cache is rolled back between passes, as after a
 * rejected draft. A draft head's pass has n new tokens of the context, whose states the target has
 * already computed, untimed. The results are sums: means include outliers, as in a real run. */
#ifndef SPECLAB_TIMING_PASSES_H
#define SPECLAB_TIMING_PASSES_H

#include "base/clock.h"
#include "models/chain.h"

#include <gsl/gsl_rng.h>

/* The most widths, and how often a visit times each. */
enum { SPEC_TIMING_WIDTHS_MAX = 128, SPEC_TIMING_PASS_REPEATS = 2 };

/* experts: how many the passes read (spec_transformer_session_experts). */
typedef struct {
    double n, seconds, experts;
} spec_timing_sum;

enum { SPEC_TIMING_SUM = sizeof(spec_timing_sum) / sizeof(double) }; /* how many numbers it has */

typedef struct {
    const spec_model *model;
    spec_session session;
    spec_session target; /* for a model that reads its target's states; otherwise zeroed */
    int n_widths;
    const int *width;   /* (n_widths) borrowed */
    const double **row; /* (widest) */
    double *store;      /* (widest, V) */
    spec_chain chain;   /* for passes whose rows stay on the device; K = 0 if unused */
} spec_timing_passes;

/* Prepares to time a model. opt_target: the target of a model that reads its states. opt_session:
 * the session to use, which must outlive the passes; NULL: their own. on_device: rows stay on the
 * device, as for chains verified there. */
int spec_timing_passes_init(spec_timing_passes *passes, const spec_model *model,
                            const spec_model *opt_target, const spec_session *opt_session,
                            const int *width, int n_widths, bool on_device, spec_error *error);
void spec_timing_passes_free(spec_timing_passes *passes);

/* Catches up with the text, untimed. Then times every width that fits into the text, in a random
 * order drawn with `rng`, and adds to sum (n_widths). opt_pick: also adds the time to draw a token
 * from the row, on the device that holds it. */
int spec_timing_passes_visit(spec_timing_passes *passes, spec_timing_sum *sum,
                             spec_timing_sum *opt_pick, const int *text, size_t n,
                             const spec_clock *clock, gsl_rng *rng, spec_error *error);

#endif
