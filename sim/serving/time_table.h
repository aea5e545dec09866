/* SPDX-License-Identifier: GPL-3.0-or-later */
/* time_table: measured seconds of a pass by its tokens and the KV tokens that it reads.
 * Linear in KV tokens between the points of a width, then linear between widths: bilinear on a
 * grid, which points need not form. docs/formats.md#step-costs. Owns its points. */
#ifndef SPECLAB_TIME_TABLE_H
#define SPECLAB_TIME_TABLE_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    int n;             /* widths, >= 2 */
    double *tokens;    /* (n) ascending, >= 1 */
    size_t *first;     /* (n + 1) the points of width i are first[i] .. first[i + 1] - 1 */
    double *kv_tokens; /* (first[n]) ascending within a width, >= 0 */
    double *seconds;   /* (first[n]) > 0 */
    double kv;         /* s per KV token where each width has one point */
    char warning[256]; /* a doubt, such as times that fall with the number of tokens; "" */
} spec_time_table;

/* Read a CSV with columns tokens, seconds and, optionally, kv_tokens; or a result of bench, with
 * its passes of the target or of the draft, whose times include the KV tokens of the measurement.
 * `kv` is the time per KV token beyond a width's only point; it must be 0 with several points per
 * width. GSL_EINVAL, in one line, for a missing column, a number outside its range and a point that
 * is given twice. Also for a single width, and for widths with one point beside widths with
 * several. Errors of files as spec_table_read_foreign_csv. Zeroed on failure. */
int spec_time_table_read(spec_time_table *table, const char *path, bool draft, double kv,
                         spec_error *error);
void spec_time_table_free(spec_time_table *table);

/* Seconds, > 0. Beyond the last point of an axis the last slope continues, if it is positive; below
 * the first point its time holds. */
double spec_time_table_seconds(const spec_time_table *table, double tokens, double kv_tokens);

#endif
