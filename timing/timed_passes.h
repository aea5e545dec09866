/* timed_passes: what one pass of n tokens takes, for a model at the end of a text.
 * The tokens are the text's own last ones, and what the session keeps is rolled back between passes, as after a
 * rejected draft. Sums of times: means are what a run pays, outliers and all. */
#ifndef SPECLAB_TIMED_PASSES_H
#define SPECLAB_TIMED_PASSES_H

#include "models/chain.h"
#include "base/clock.h"

#include <gsl/gsl_rng.h>

/* Most widths. Each is timed so many times a visit. */
enum { SPEC_TIMED_WIDTHS_MAX = 128, SPEC_TIMED_PASS_REPEATS = 2 };

typedef struct {
    double n, seconds;
} spec_timed_sum;

typedef struct {
    const spec_model *model;
    spec_session session;
    int n_widths;
    const int *width;   /* (n_widths) borrowed */
    const double **row; /* (widest) */
    double *store;      /* (widest, V) */
    spec_chain chain;   /* for passes whose rows stay on the device; K 0: there are none */
} spec_timed_passes;

/* opt_session: the session of the model to use, which outlives these; NULL: their own. on_device: as they are where
 * chains are verified on the device: their rows stay there. */
int spec_timed_passes_init(spec_timed_passes *passes, const spec_model *model, const spec_session *opt_session,
                           const int *width, int n_widths, bool on_device, spec_error *error);
void spec_timed_passes_free(spec_timed_passes *passes);

/* Catch up with the text, untimed; then time every width that it is long enough for, in an order of `rng`'s, and add to
 * sum (n_widths). opt_pick: add the time of drawing a token from the row, too, where the row is. */
int spec_timed_passes_visit(spec_timed_passes *passes, spec_timed_sum *sum, spec_timed_sum *opt_pick, const int *text,
                            size_t n, const spec_clock *clock, gsl_rng *rng, spec_error *error);

#endif
