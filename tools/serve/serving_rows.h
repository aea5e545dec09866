/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_rows: the results of all methods at a point of serving, and their comparison.
 * Every method serves the same requests. A load at or above capacity is not simulated, and one that
 * is not stationary has no result. Must be freed after _run, even after a failure. */
#ifndef SPECLAB_SERVING_ROWS_H
#define SPECLAB_SERVING_ROWS_H

#include "tools/serve/paired_latency.h"
#include "tools/serve/serving_question.h"
#include "tools/serve/serving_theory.h"

/* The state of a row, as the column shows it. */
typedef enum {
    SPEC_SERVING_STEADY,
    SPEC_SERVING_OVER,     /* the rate is at or above the capacity: not simulated */
    SPEC_SERVING_UNSTEADY, /* mean latency would still change, so there are no results */
    SPEC_SERVING_REPLAYED, /* a trace, from beginning to end */
    SPEC_SERVING_SHORT,    /* steady, but with fewer requests than its intervals need */
} spec_serving_state;
extern const char *const spec_serving_state_names[]; /* in the order of the enum */

/* A drift (spec_replications_drift), or a deviation from Little's law, counts as real if it is this
 * many standard errors from 0. By chance this has probability 6e-5. */
#define SPEC_SERVING_DRIFT_Z 4.0

typedef struct {
    spec_serving_state state;
    spec_serving_theory theory;
    double capacity, load; /* by theory, or simulated */
    double relaxation;     /* requests; 0 without random arrivals */
    double rounds, step_guess; /* mean rounds of a request; a guess of a step's time, s */
    double drift_z, little_z; /* deviations from a stationary engine; see SPEC_SERVING_DRIFT_Z */
    spec_replications runs;   /* zeroed if not simulated; without times */
    /* over all measured requests (s) and all steps, in all replications */
    double first_token[SPEC_SERVING_QUANTILES], per_token[SPEC_SERVING_QUANTILES],
        latency[SPEC_SERVING_QUANTILES];
    double batch[SPEC_SERVING_QUANTILES], step[SPEC_SERVING_QUANTILES];
    /* share of requests that meet the objectives; NaN if there are no objectives */
    double slo_share;
    spec_paired_plan paired;
} spec_serving_row;

typedef struct {
    int n; /* as in question->choices */
    spec_serving_row row[SPEC_SERVING_WAYS];
    int best; /* the fixed K with the lowest mean latency, including plain decoding; -1: none */
} spec_serving_rows;

/* Runs the replications, which start with requests under way (begun_requests.h), as many as an
 * engine would have if its steps took `step_guess`. An affine engine forgets an error in this guess
 * within a relaxation time of
 *
 *     rate max(turn step / (1 - load), E[latency])
 *
 * requests. A generation of requests lasts for `turn` steps (heavy_traffic.h), and each generation
 * is smaller than the last by the factor `load`. Without theory we use rate rounds base / (1 -
 * load)^2. All methods warm up for 5 times the longest relaxation, but at most
 * SPEC_SERVING_WARM_MAX requests. A method for which that is less than 3 times its own relaxation
 * is not simulated and counts as unsteady. */
enum { SPEC_SERVING_WARM_MAX = 50000 };
int spec_serving_rows_run(spec_serving_rows *rows, const spec_serving_question *question,
                          const spec_point *point, spec_error *error);
void spec_serving_rows_free(spec_serving_rows *rows);

/* Returns whether the numbers of the row are valid. */
bool spec_serving_row_counts(const spec_serving_row *row);

#endif
