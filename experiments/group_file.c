/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/group_file.h"

#include "experiments/group_text.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

static int check_simulation(spec_group_writer *writer, const spec_point *point, uint64_t groups,
                            spec_error *error)
{
    if (point->standard_error > 0.0)
        return spec_fail(error, GSL_EINVAL,
                         "--batches needs a number of rounds, without a standard error");
    if (writer->simulations++ > 0)
        return spec_fail(error, GSL_EINVAL,
                         "--batches: this point simulates several times; divide the points by "
                         "--shard");
    if (writer->batches.of > groups)
        return spec_fail(error, GSL_EINVAL,
                         "--batches %llu/%llu: this point has %llu group%s of batches: give at "
                         "most as many parts",
                         (unsigned long long)writer->batches.number,
                         (unsigned long long)writer->batches.of, (unsigned long long)groups,
                         groups == 1 ? "" : "s");
    return GSL_SUCCESS;
}

/* Write the sum of a group as the next row. */
static int write_group(spec_group_writer *writer, const char *place, const spec_montecarlo_sum *sum,
                       spec_error *error)
{
    const spec_check check = SPEC_CHECK_NONE;
    const size_t row = writer->table->n_rows;
    char *text = spec_group_text_of(sum);
    if (text == NULL) return spec_no_memory(error);
    spec_table_text(writer->table, SPEC_SHARD_COLUMN, place);
    spec_table_text(writer->table, SPEC_GROUP_COLUMN, text);
    free(text);
    if (spec_table_append(writer->table) != GSL_SUCCESS) return spec_no_memory(error);
    return spec_result_file_write(writer->file, writer->table, row, &check, error);
}

int spec_group_writer_simulate(void *self, spec_montecarlo *mc, const spec_point *point,
                               spec_error *error)
{
    spec_group_writer *writer = self;
    spec_montecarlo_sum sum;
    int status = GSL_SUCCESS;
    const uint64_t groups = spec_montecarlo_groups(mc);
    SPEC_TRY(check_simulation(writer, point, groups, error));
    for (uint64_t k = 0; k < spec_shard_size(&writer->batches, groups); k++, writer->row++) {
        const uint64_t group = spec_shard_index(&writer->batches, k);
        const spec_shard_row at = {point->index + 1, spec_grid_size(point->grid), group + 1,
                                   groups};
        char place[SPEC_SHARD_ROW_SIZE];
        spec_shard_row_text(place, &at);
        if (writer->row < writer->table->n_rows) { /* of an earlier run */
            const spec_cell *cell = spec_table_cell(writer->table, writer->row, 0);
            if (cell->kind == SPEC_CELL_TEXT && strcmp(cell->text, place) == 0) continue;
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "row %zu is not '%s'", writer->row + 1, place));
        }
        SPEC_TRY(spec_montecarlo_group(mc, &sum, group, point->stop, error));
        SPEC_TRY(write_group(writer, place, &sum, error));
        spec_listener_tell(point->opt_listener, (double)group / (double)groups);
    }
done:
    return status;
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
                           "or version wrote it, or it has one part alone",
                           path));
    if ((check = calloc(table->n_rows + 1, sizeof *check)) == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_result_file_verify(check, path, table, error));
done:
    free(check);
    if (status != GSL_SUCCESS) spec_group_reader_free(reader);
    return status;
}

void spec_group_reader_free(spec_group_reader *reader)
{
    spec_table_free(&reader->table);
}

/* The sum in the next row, which must be that of this place. */
static bool next_sum(spec_montecarlo_sum *ret, spec_group_reader *reader, const spec_shard_row *at)
{
    char place[SPEC_SHARD_ROW_SIZE];
    spec_shard_row_text(place, at);
    while (reader->row < reader->table.n_rows) {
        const spec_cell *cell = spec_table_cell(&reader->table, reader->row++, 0);
        spec_shard_row there;
        if (cell->kind != SPEC_CELL_TEXT || !spec_shard_row_parse(&there, cell->text)) return false;
        if (there.point < at->point) continue; /* a point that is kept from an earlier run */
        const spec_cell *sum = cell + 1;
        return strcmp(cell->text, place) == 0 && sum->kind == SPEC_CELL_TEXT &&
               spec_group_text_parse(ret, sum->text);
    }
    return false;
}

int spec_group_reader_simulate(void *self, spec_montecarlo *mc, const spec_point *point,
                               spec_error *error)
{
    spec_group_reader *reader = self;
    const uint64_t groups = spec_montecarlo_groups(mc);
    for (uint64_t group = 0; group < groups; group++) {
        const spec_shard_row at = {point->index + 1, spec_grid_size(point->grid), group + 1,
                                   groups};
        spec_montecarlo_sum sum;
        if (!next_sum(&sum, reader, &at))
            return spec_fail(error, GSL_EINVAL, "%.200s: no sum of group %llu of %llu",
                             reader->path, (unsigned long long)group + 1,
                             (unsigned long long)groups);
        spec_montecarlo_add(mc, &sum);
    }
    if (mc->done && mc->sum.tally.rounds == mc->limit) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%.200s: its groups have another number of rounds",
                     reader->path);
}
