/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shard_merge: joins the parts of a run (shard.h) into the bytes of the run without shards.
 * Parts of groups (group_file.h) become the file of the part 1/1. The parts alone show what is
 * missing, so we need neither the experiment nor its models. The parts own their tables and checks;
 * the caller owns the paths. */
#ifndef SPECLAB_SHARD_MERGE_H
#define SPECLAB_SHARD_MERGE_H

#include "experiments/experiment.h"

typedef struct {
    const char *path;
    spec_shard shard;
    bool by_groups;      /* the part has groups of each point (group_file.h), not whole points */
    uint64_t done, size; /* complete points in the file; all points of the part */
    spec_table table;    /* as read, with the columns shard_row and row_check */
    spec_check *check;   /* (table.n_rows) */
} spec_part;

typedef struct {
    spec_part *part; /* (n) by shard number; shards may be missing */
    size_t n;
    uint64_t shards, points; /* counts of the run; points = 0: no part has a row */
    char *head;              /* provenance of the run without shards */
} spec_parts;

/* Reads the files and checks their rows. Returns GSL_EINVAL, with one line that names the file, if
 * it is not a part, was edited, belongs to another run than the first, or repeats a shard. Missing
 * and unfinished shards are not an error here. */
int spec_parts_read(spec_parts *parts, const char *const *path, size_t n, spec_error *error);
void spec_parts_free(spec_parts *parts);

/* Returns whether the parts have every point of the run. */
bool spec_parts_are_whole(const spec_parts *parts);

/* Writes the rows of complete parts in grid order, and fills in the result. The caller always frees
 * the result. */
int spec_parts_merge(spec_result *result, const spec_parts *parts, const char *csv_path,
                     FILE *opt_csv, spec_error *error);

#endif
