/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_rows: the rows of target and draft in a record of a trace, whole or as top-k pairs.
 * Errors name file and line. Owns the rows that it fills in, until the next record. */
#ifndef SPECLAB_TRACE_ROWS_H
#define SPECLAB_TRACE_ROWS_H

#include "tools/validate/traces/trace_line.h"
#include "tools/validate/traces/trace_record.h"

enum { SPEC_TRACE_TOP_MAX = 1024 }; /* maximum pairs of a top-k row */

/* One model's row in a record. */
typedef struct {
    bool given;
    double *whole;              /* (V) allocated with the first whole row */
    int n_top, n_top_first;     /* number of pairs, and of pairs in the first record that had any
                                 * (0: no record so far) */
    int32_t id[SPEC_TRACE_TOP_MAX];
    double chance[SPEC_TRACE_TOP_MAX];
} spec_trace_row;

typedef struct {
    const spec_trace_line *in;   /* borrowed */
    const spec_trace_head *head; /* borrowed */
    spec_trace_row target, draft;
    int *order;                  /* (V) workspace of the transform */
    int32_t cell_id[SPEC_TRACE_TOP_MAX + 1];
    double cell_target[SPEC_TRACE_TOP_MAX + 1], cell_draft[SPEC_TRACE_TOP_MAX + 1];
} spec_trace_rows;

void spec_trace_rows_free(spec_trace_rows *rows); /* accepts zeroed rows */

/* Begins a record, which has no rows yet. */
void spec_trace_rows_reset(spec_trace_rows *rows);

/* Read the value of `key` into `row`, which is rows->target or rows->draft: a whole row, to which
 * the head's transform is applied, or pairs [token, log-probability]. */
int spec_trace_rows_whole(spec_trace_rows *rows, spec_trace_row *row, const char *key,
                          const json_t *value, spec_error *error);
int spec_trace_rows_top(spec_trace_rows *rows, spec_trace_row *row, const char *key,
                        const json_t *value, spec_error *error);

/* Fills in the record's cells from the rows given. Its token and log-probabilities must be set. */
int spec_trace_rows_use(spec_trace_rows *rows, spec_trace_record *record, spec_error *error);

#endif
