/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_result: reads the table of bench as numbers, from memory or from its CSV.
 * A table that was edited, truncated or written by another program is rejected before anything is
 * computed from it. Borrows the table. */
#ifndef SPECLAB_TIMING_RESULT_H
#define SPECLAB_TIMING_RESULT_H

#include "base/table.h"
#include "tools/bench/timing_decoding.h"
#include "tools/bench/timing_trust.h"

/* The row of one K. Times are in ms; an empty cell is NaN. */
typedef struct {
    size_t row; /* its number in the table */
    int K;
    bool ahead;
    bool tied, best;          /* tied: may be the fastest; best: its interval has the largest lower
                                 end */
    double tokens;             /* per round */
    double speedup, low, high; /* only speedup NaN: withheld; all three: impossible */
    double predicted, costed;
    double round, draft, verify, during, rule, rest; /* parts of a round; during: drafting ahead */
} spec_timing_result_row;

typedef struct {
    const spec_table *table;
    int n_rows;
    spec_timing_result_row row[SPEC_TIMING_SPEEDS_MAX];
    int n_passes;                            /* widths ascending */
    int width[SPEC_TIMING_WIDTHS_MAX];
    size_t pass_row[SPEC_TIMING_WIDTHS_MAX]; /* row numbers in the table */
    double target[SPEC_TIMING_WIDTHS_MAX];   /* ms of the target's pass */
    double plain;                            /* ms of a token of plain decoding */
    double alpha, c, c_low, c_high;          /* NaN: not measured; only c NaN: withheld */
    bool has_draft;                          /* a draft model was timed */
    int texts;
    spec_timing_trust trust;
} spec_timing_result;

/* Reads the table. `name` names the file in error messages. Returns GSL_EINVAL, naming the wrong
 * column and row. */
int spec_timing_result_init(spec_timing_result *result, const spec_table *table, const char *name,
                            spec_error *error);

/* Writes a line if the result cannot be trusted, as spec_timing_trust_line does; false if it
 * can. */
bool spec_timing_result_warning(char *line, size_t size, const spec_timing_result *result);

#endif
