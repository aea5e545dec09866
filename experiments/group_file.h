/* SPDX-License-Identifier: GPL-3.0-or-later */
/* group_file: the results of groups of work (base/groups.h), in a file, for several machines.
 * A run with batches I/N computes groups I, I + N, ... of every point, and writes a part: a result
 * with the line "# batches: I/N" and the columns shard_row ("point/points group/groups") and
 * group_sum, which has the result. Merged parts form a file 1/1, from which a run can take its
 * results. */
#ifndef SPECLAB_GROUP_FILE_H
#define SPECLAB_GROUP_FILE_H

#include "base/groups.h"
#include "experiments/result_file.h"
#include "experiments/shard.h"

#define SPEC_GROUP_COLUMN "group_sum"

/* The writer. Rows go to the table and the file; the table begins with the rows of an earlier
 * run. */
typedef struct {
    spec_shard part;
    bool are_points; /* each group is a point of its own, in a part of a calibration */
    spec_table *table;
    spec_result_file *file;
    size_t row; /* row of the next group */
    uint64_t point, points, groups; /* position of the current point */
} spec_group_writer;

/* Keeps the rows of an earlier run in the table and in the file, which must not be open yet. */
int spec_group_writer_resume(spec_group_writer *writer, spec_error *error);

/* Computes the groups of the part that have no row yet, and writes a row for each. Returns
 * GSL_EINVAL if a row of an earlier run is not where it belongs. */
int spec_group_writer_run(spec_group_writer *writer, const spec_groups *groups, uint64_t point,
                          uint64_t points, spec_error *error);

typedef struct {
    const char *path;
    spec_table table;
    size_t row; /* row of the next group */
} spec_group_reader;

/* Reads a file whose provenance must be `head`. Returns GSL_EINVAL if it is from another run or was
 * edited. */
int spec_group_reader_open(spec_group_reader *reader, const char *path, const char *head,
                           spec_error *error);
/* Adds up the results of all groups of a point. Points come in order; some may be left out. */
int spec_group_reader_run(spec_group_reader *reader, const spec_groups *groups, uint64_t point,
                          uint64_t points, spec_error *error);
void spec_group_reader_free(spec_group_reader *reader);

#endif
