/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shard: the points of a grid that one of several machines computes, and how its file names them.
 * Shard I of N has the points I, I + N, I + 2N and so on, in grid order, counted from 1. Its file
 * is a part: a result with the line "# shard: I/N" and the column shard_row, which tells
 * experiments/shard_merge.h where each row belongs. */
#ifndef SPECLAB_SHARD_H
#define SPECLAB_SHARD_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t number; /* from 1 */
    uint64_t of;     /* number of shards; 0: the whole grid is computed here */
} spec_shard;

/* Parses a text such as "3/16". Returns GSL_EINVAL, and a line about the text, unless 1 <= I <= N
 * <= SPEC_GRID_POINTS_MAX. */
int spec_shard_parse(spec_shard *ret, const char *text, spec_error *error);

/* Return the number of points in a shard of a grid of `points`, and the grid index of its k-th
 * point, both counted from 0. */
uint64_t spec_shard_size(const spec_shard *shard, uint64_t points);
uint64_t spec_shard_index(const spec_shard *shard, uint64_t k);

/* Where a row belongs, all four counted from 1: "17/40 1/2" is the first of two rows of point
 * 17. */
typedef struct {
    uint64_t point, points, row, rows;
} spec_shard_row;

#define SPEC_SHARD_COLUMN "shard_row"
enum { SPEC_SHARD_ROW_SIZE = 96 };
const char *spec_shard_row_text(char text[SPEC_SHARD_ROW_SIZE], const spec_shard_row *row);
/* Returns false unless the text is one that _text could write, with numbers in their ranges. */
bool spec_shard_row_parse(spec_shard_row *ret, const char *text);

#endif
