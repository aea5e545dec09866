/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_rows: the results of all ways of a point of serving, and their comparison.
 * Every way serves the same requests. A load at or above capacity is not simulated, and one that is
 * not stationary has no result. Free them after _run, also after a failure. */
#ifndef SPECLAB_SERVING_ROWS_H
#define SPECLAB_SERVING_ROWS_H

#include "experiments/serving/paired_latency.h"
#include "experiments/serving/serving_question.h"
#include "experiments/serving/serving_theory.h"

/* The state of a row, as its column has it. */
typedef enum {
    SPEC_SERVING_STEADY,
    SPEC_SERVING_OVER,     /* the rate is at or above the capacity: not simulated */
    SPEC_SERVING_UNSTEADY, /* mean latency would still change: no results */
    SPEC_SERVING_REPLAYED, /* a trace, from its begin to its end */
    SPEC_SERVING_SHORT,    /* steady, of fewer requests than its intervals need */
} spec_serving_state;
extern const char *const spec_serving_state_names[]; /* as the enum */

/* Distance from 0 of a drift (spec_replications_drift), or of what Little's law leaves, that is
 * taken for one: 6e-5 by chance. */
#define SPEC_SERVING_DRIFT_Z 4.0

typedef struct {
    spec_serving_state state;
    spec_serving_theory theory;
    double capacity, load; /* by theory, or simulated */
    double relaxation;     /* requests; 0 without random arrivals */
    double rounds, step_guess; /* mean rounds of a request; s of a step, as a guess */
    double drift_z, little_z; /* distances from a stationary engine; see SPEC_SERVING_DRIFT_Z */
    spec_replications runs; /* zeroed where not simulated; without times */
    /* over all measured requests, s, and over all steps, of all replications */
    double first_token[SPEC_SERVING_QUANTILES], per_token[SPEC_SERVING_QUANTILES],
        latency[SPEC_SERVING_QUANTILES];
    double batch[SPEC_SERVING_QUANTILES], step[SPEC_SERVING_QUANTILES];
    double slo_share; /* of requests, that meet the objectives; NaN without any */
    spec_paired_plan paired;
} spec_serving_row;

typedef struct {
    int n; /* as question->choices */
    spec_serving_row row[SPEC_SERVING_WAYS];
    int best; /* the fixed K of the lowest mean latency, plain decoding included; -1: none */
} spec_serving_rows;

/* Replications begin with requests under way (begun_requests.h), as many as in an engine whose
 * steps take `step_guess`. An affine engine forgets the error of this guess in a relaxation time,
 * of
 *
 *     rate max(turn step / (1 - load), E[latency])
 *
 * requests: a generation of requests lasts for `turn` steps (heavy_traffic.h), and the next one is
 * smaller by the load. Without theory it is rate rounds base / (1 - load)^2. The warm-up of all
 * ways is 5 times the longest, at most SPEC_SERVING_WARM_MAX. A way for which that is below 3 times
 * is not simulated, and not steady. */
enum { SPEC_SERVING_WARM_MAX = 50000 };
int spec_serving_rows_run(spec_serving_rows *rows, const spec_serving_question *question,
                          const spec_point *point, spec_error *error);
void spec_serving_rows_free(spec_serving_rows *rows);

/* Do the numbers of the row hold? */
bool spec_serving_row_counts(const spec_serving_row *row);

#endif
