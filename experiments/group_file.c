/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/group_file.h"

#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

int spec_group_writer_resume(spec_group_writer *writer, spec_error *error)
{
    spec_table old, *table = writer->table;
    spec_check *check = NULL;
    int status;
    SPEC_TRY(spec_result_file_read(&old, writer->file, table, error));
    if (old.n_columns == 0) goto done;
    for (size_t r = 0; r < old.n_rows; r++) {
        for (int c = 0; c < table->n_columns; c++)
            if (spec_cell_copy(&table->row[c], spec_table_cell(&old, r, c)) != GSL_SUCCESS)
                SPEC_TRY(spec_no_memory(error));
        if (spec_table_append(table) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
    }
    if ((check = calloc(old.n_rows + 1, sizeof *check)) == NULL) SPEC_TRY(spec_no_memory(error));
    status = spec_result_file_keep(writer->file, table, check, error);
done:
    free(check);
    spec_table_free(&old);
    return status;
}

static const char *place_of(char text[SPEC_SHARD_ROW_SIZE], const spec_group_writer *writer,
                            uint64_t group)
{
    const spec_shard_row of_point = {writer->point + 1, writer->points, group + 1, writer->groups},
                         alone = {group + 1, writer->groups, 1, 1};
    return spec_shard_row_text(text, writer->are_points ? &alone : &of_point);
}

/* Checks that the row of an earlier run belongs to this group. */
static int check_row(const spec_group_writer *writer, uint64_t group, spec_error *error)
{
    char place[SPEC_SHARD_ROW_SIZE];
    const int column = spec_table_column(writer->table, SPEC_SHARD_COLUMN);
    const spec_cell *cell = spec_table_cell(writer->table, writer->row, column);
    place_of(place, writer, group);
    if (cell->kind == SPEC_CELL_TEXT && strcmp(cell->text, place) == 0) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "row %zu is not '%s'", writer->row + 1, place);
}

static int write_group(void *self, uint64_t group, const char *result, spec_error *error)
{
    spec_group_writer *writer = self;
    const spec_check check = SPEC_CHECK_NONE;
    char place[SPEC_SHARD_ROW_SIZE];
    spec_table_text(writer->table, SPEC_SHARD_COLUMN, place_of(place, writer, group));
    spec_table_text(writer->table, SPEC_GROUP_COLUMN, result);
    if (spec_table_append(writer->table) != GSL_SUCCESS) return spec_no_memory(error);
    const int status =
        spec_result_file_write(writer->file, writer->table, writer->row++, &check, error);
    writer->file->done++;
    return status;
}

int spec_group_writer_run(spec_group_writer *writer, const spec_groups *groups, uint64_t point,
                          uint64_t points, spec_error *error)
{
    const uint64_t size = spec_shard_size(&writer->part, groups->n);
    uint64_t k = 0;
    writer->point = point;
    writer->points = points;
    writer->groups = groups->n;
    for (; k < size && writer->row < writer->table->n_rows; k++, writer->row++) {
        const int status = check_row(writer, spec_shard_index(&writer->part, k), error);
        if (status != GSL_SUCCESS) return status;
    }
    writer->file->done = k;
    writer->file->total = size;
    writer->file->what = writer->are_points ? "runs" : "groups";
    return spec_groups_run(groups, spec_shard_index(&writer->part, k), writer->part.of, write_group,
                           writer, error);
}

/* ---- reading --------------------------------------------------------------------------------- */

int spec_group_reader_open(spec_group_reader *reader, const char *path, const char *head,
                           spec_error *error)
{
    spec_check *check = NULL;
    int status;
    *reader = (spec_group_reader){.path = path};
    SPEC_TRY(spec_table_read_csv(&reader->table, path, NULL, error));
    const spec_table *table = &reader->table;
    if (strcmp(table->provenance, head) != 0 || table->n_columns != 3 ||
        strcmp(table->column[0], SPEC_SHARD_COLUMN) != 0 ||
        strcmp(table->column[1], SPEC_GROUP_COLUMN) != 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.200s: not the merged batches of this run: another experiment, seed "
                           "or version wrote it, or it has only one part",
                           path));
    if ((check = calloc(table->n_rows + 1, sizeof *check)) == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_result_file_verify(check, NULL, path, table, error));
done:
    free(check);
    if (status != GSL_SUCCESS) spec_group_reader_free(reader);
    return status;
}

void spec_group_reader_free(spec_group_reader *reader)
{
    spec_table_free(&reader->table);
}

/* Returns the result in the next row; NULL if that row belongs elsewhere. */
static const char *next_result(spec_group_reader *reader, const spec_shard_row *at)
{
    char place[SPEC_SHARD_ROW_SIZE];
    spec_shard_row_text(place, at);
    while (reader->row < reader->table.n_rows) {
        const spec_cell *cell = spec_table_cell(&reader->table, reader->row++, 0);
        spec_shard_row there;
        if (cell->kind != SPEC_CELL_TEXT || !spec_shard_row_parse(&there, cell->text)) return NULL;
        /* this row belongs to a point that was kept from an earlier run */
        if (there.point < at->point) continue;
        const bool found = strcmp(cell->text, place) == 0 && cell[1].kind == SPEC_CELL_TEXT;
        return found ? cell[1].text : NULL;
    }
    return NULL;
}

int spec_group_reader_run(spec_group_reader *reader, const spec_groups *groups, uint64_t point,
                          uint64_t points, spec_error *error)
{
    for (uint64_t group = 0; group < groups->n; group++) {
        const spec_shard_row at = {point + 1, points, group + 1, groups->n};
        const char *result = next_result(reader, &at);
        spec_error inner = {"no such row"};
        const int status = result != NULL ? groups->add(groups->self, result, &inner) : GSL_EINVAL;
        if (status != GSL_SUCCESS)
            return spec_fail(error, status,
                             "%.200s: the sum of group %llu of %llu is missing: %.200s",
                             reader->path, (unsigned long long)group + 1,
                             (unsigned long long)groups->n, inner.text);
    }
    return GSL_SUCCESS;
}
