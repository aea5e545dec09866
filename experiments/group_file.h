/* SPDX-License-Identifier: GPL-3.0-or-later */
/* group_file: Monte Carlo points that several machines share: groups of batches, in a file.
 * A run with batches I/N computes groups I, I + N, ... of every point, and writes a part: a result
 * with the line "# batches: I/N" and the columns shard_row ("point/points group/groups") and
 * group_sum (group_text.h). Merged parts are a file 1/1, from which a run takes its sums. */
#ifndef SPECLAB_GROUP_FILE_H
#define SPECLAB_GROUP_FILE_H

#include "experiments/measures/measure.h"
#include "experiments/result_file.h"
#include "experiments/shard.h"

#define SPEC_GROUP_COLUMN "group_sum"

/* The writer. Rows go to the table and the file, after those of an earlier run in the table. */
typedef struct {
    spec_shard batches;
    spec_table *table;
    spec_result_file *file;
    size_t row;           /* of the next group */
    uint64_t simulations; /* of the current point */
} spec_group_writer;

/* Implements spec_point_groups. GSL_EINVAL for a point with a standard error as its limit, with
 * several simulations, or with fewer groups than parts; and for an earlier row that is misplaced.
 */
int spec_group_writer_simulate(void *writer, spec_montecarlo *mc, const spec_point *point,
                               spec_error *error);

typedef struct {
    const char *path;
    spec_table table;
    size_t row; /* of the next group */
} spec_group_reader;

/* Read a file whose provenance must be `head`. GSL_EINVAL: it is of another run, or was edited. */
int spec_group_reader_open(spec_group_reader *reader, const char *path, const char *head,
                           spec_error *error);
int spec_group_reader_simulate(void *reader, spec_montecarlo *mc, const spec_point *point,
                               spec_error *error);
void spec_group_reader_free(spec_group_reader *reader);

#endif
