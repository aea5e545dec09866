/* SPDX-License-Identifier: GPL-3.0-or-later */
/* time_table: measured seconds of a pass by its tokens and the KV tokens that it reads.
 * A width is a number of tokens. Times are interpolated linearly in KV tokens between the points of
 * a width, and then linearly between widths. On a grid this is bilinear, but the points need not
 * form a grid. docs/formats.md#step-costs. Owns its points. */
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
    double kv;         /* s per KV token if each width has one point */
    char warning[256]; /* a warning, such as that times fall with the number of tokens; "" */
} spec_time_table;

/* Reads a CSV with columns tokens, seconds and, optionally, kv_tokens; or the passes of the target
 * or the draft in a result of bench, whose times include the KV tokens of the measurement. `kv` is
 * the time per KV token beyond a width's only point; it must be 0 if widths have several points.
 * Returns GSL_EINVAL, with a message of one line, for a missing column, a number outside its range,
 * a point that is given twice, a single width, or some widths with one point and others with
 * several. File errors are as in spec_table_read_foreign_csv. The table is zeroed on failure. */
int spec_time_table_read(spec_time_table *table, const char *path, bool draft, double kv,
                         spec_error *error);
void spec_time_table_free(spec_time_table *table);

/* Returns seconds, > 0. Beyond the last point of an axis the last slope continues if it is
 * positive; below the first point, the time of the first point applies. */
double spec_time_table_seconds(const spec_time_table *table, double tokens, double kv_tokens);

#endif
