/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/shard_merge.h"

#include "experiments/result_file.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* Finds the line of the shard in *head. If the part has points, removes the line; if it has groups,
 * replaces it by the line of the whole. */
static int take_shard(spec_part *part, char **head, spec_error *error)
{
    static const char *const keys[] = {"shard: ", "batches: "}, *const lines[] = {"",
                                                                                  "batches: 1/1\n"};
    for (int k = 0; k < 2; k++)
        for (char *line = *head; *line != '\0';
             line += strcspn(line, "\n"), line += *line == '\n') {
            const size_t length = strlen(keys[k]), n = strcspn(line, "\n");
            spec_error inner;
            char *text = NULL, *made = NULL;
            if (strncmp(line, keys[k], length) != 0) continue;
            if ((text = strndup(line + length, n - length)) == NULL) return spec_no_memory(error);
            const int status = spec_shard_parse(&part->shard, text, &inner);
            free(text);
            if (status != GSL_SUCCESS)
                return spec_fail(error, status, "%.200s: # %s%s", part->path, keys[k], inner.text);
            if (asprintf(&made, "%.*s%s%s", (int)(line - *head), *head, lines[k],
                         line + n + (line[n] == '\n')) < 0)
                return spec_no_memory(error);
            free(*head);
            *head = made;
            part->by_groups = k == 1;
            return GSL_SUCCESS;
        }
    return spec_fail(error, GSL_EINVAL,
                     "%.200s: not a part of a run: it has no line '# shard: I/N' or "
                     "'# batches: I/N', which --shard or --batches writes",
                     part->path);
}

/* Returns the first line in which two texts differ, cut to fit a message. */
static const char *differing_line(char line[80], const char *a, const char *b)
{
    size_t start = 0;
    for (size_t i = 0; a[i] == b[i] && a[i] != '\0'; i++)
        if (a[i] == '\n') start = i + 1;
    const int n = (int)strcspn(a + start, "\n");
    snprintf(line, 80, "%.*s", n, a + start);
    return line;
}

/* Checks that the parts belong to the same run. */
static int compare(const spec_part *part, const char *head, const spec_part *first,
                   const spec_parts *parts, spec_error *error)
{
    char line[80];
    if (strcmp(head, parts->head) != 0)
        return spec_fail(error, GSL_EINVAL,
                         "%.200s: its head differs from that of %.200s: '%s'; only parts of one "
                         "command can be merged",
                         part->path, first->path, differing_line(line, head, parts->head));
    bool same = part->table.n_columns == first->table.n_columns;
    for (int c = 0; same && c < first->table.n_columns; c++)
        same = strcmp(part->table.column[c], first->table.column[c]) == 0;
    if (!same)
        return spec_fail(error, GSL_EINVAL, "%.200s: its columns differ from those of %.200s",
                         part->path, first->path);
    if (part->shard.of == first->shard.of) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%.200s: one of %llu shards, but %.200s is one of %llu",
                     part->path, (unsigned long long)part->shard.of, first->path,
                     (unsigned long long)first->shard.of);
}

/* Returns the column shard_row: it comes before row_check, or is the first of two if the part has
 * sums of groups. */
static int place_column(const spec_part *part)
{
    return part->by_groups ? 0 : part->table.n_columns - 2;
}

/* Goes through the rows in the order in which a run writes them, and counts the complete points. */
static int count_points(spec_part *part, spec_parts *parts, spec_error *error)
{
    const uint64_t first = part->by_groups ? part->shard.number : 1,
                   step = part->by_groups ? part->shard.of : 1;
    uint64_t row = first;
    for (size_t i = 0; i < part->table.n_rows; i++) {
        const spec_cell *cell = spec_table_cell(&part->table, i, place_column(part));
        const uint64_t point =
            part->by_groups ? part->done : spec_shard_index(&part->shard, part->done);
        spec_shard_row at;
        const bool known = cell->kind == SPEC_CELL_TEXT && spec_shard_row_parse(&at, cell->text);
        if (!known || at.point != point + 1 || at.row != row)
            return spec_fail(error, GSL_EINVAL, "%.200s: row %zu is not the next row of its shard",
                             part->path, i + 1);
        if (parts->points == 0) parts->points = at.points;
        if (at.points != parts->points)
            return spec_fail(error, GSL_EINVAL, "%.200s: row %zu is of a grid of another size",
                             part->path, i + 1);
        const bool last = at.rows - at.row < step;
        part->done += last;
        row = last ? first : row + step;
    }
    return GSL_SUCCESS;
}

static int read_part(spec_parts *parts, const char *path, spec_error *error)
{
    spec_part *part = &parts->part[parts->n++];
    char *head = NULL;
    int status;
    part->path = path;
    SPEC_TRY(spec_table_read_csv(&part->table, path, NULL, error));
    head = strdup(part->table.provenance);
    part->check = calloc(part->table.n_rows + 1, sizeof *part->check);
    if (head == NULL || part->check == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(take_shard(part, &head, error));
    if (part->table.n_columns < 3 ||
        strcmp(part->table.column[place_column(part)], SPEC_SHARD_COLUMN) != 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.200s: it has no column " SPEC_SHARD_COLUMN, path));
    SPEC_TRY(spec_result_file_verify(part->check, NULL, path, &part->table, error));
    if (parts->n == 1) {
        parts->shards = part->shard.of;
        parts->head = head;
        head = NULL;
    } else {
        SPEC_TRY(compare(part, head, &parts->part[0], parts, error));
    }
    SPEC_TRY(count_points(part, parts, error));
done:
    free(head);
    return status;
}

static int by_number(const void *a, const void *b)
{
    const spec_part *left = a, *right = b;
    return (left->shard.number > right->shard.number) - (left->shard.number < right->shard.number);
}

int spec_parts_read(spec_parts *parts, const char *const *path, size_t n, spec_error *error)
{
    int status = GSL_SUCCESS;
    *parts = (spec_parts){.part = calloc(n, sizeof *parts->part)};
    if (parts->part == NULL) return spec_no_memory(error);
    for (size_t i = 0; i < n; i++) SPEC_TRY(read_part(parts, path[i], error));
    if (parts->points > 0 && parts->points < parts->shards && !parts->part[0].by_groups)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.200s: more shards than points", path[0]));
    qsort(parts->part, n, sizeof *parts->part, by_number);
    for (size_t i = 0; i < n; i++) {
        spec_part *part = &parts->part[i];
        part->size = part->by_groups ? parts->points : spec_shard_size(&part->shard, parts->points);
        if (i == 0 || part[-1].shard.number < part->shard.number) continue;
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.200s and %.200s are both shard %llu/%llu: give one", part[-1].path,
                           part->path, (unsigned long long)part->shard.number,
                           (unsigned long long)part->shard.of));
    }
done:
    if (status != GSL_SUCCESS) spec_parts_free(parts);
    return status;
}

bool spec_parts_are_whole(const spec_parts *parts)
{
    bool whole = parts->n == parts->shards && parts->points > 0;
    for (size_t i = 0; i < parts->n; i++)
        whole = whole && parts->part[i].done == parts->part[i].size;
    return whole;
}

void spec_parts_free(spec_parts *parts)
{
    for (size_t i = 0; i < parts->n; i++) {
        spec_table_free(&parts->part[i].table);
        free(parts->part[i].check);
    }
    free(parts->part);
    free(parts->head);
    *parts = (spec_parts){.n = 0};
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Appends the rows of a point: all rows from one part, or one row from each part in turn. next[i]
 * is the next row of part i. Returns GSL_EINVAL if parts differ in their number of groups. */
static int append_point(spec_result *result, spec_check *check, const spec_parts *parts,
                        size_t *next, uint64_t point, spec_error *error)
{
    spec_table *table = &result->table;
    spec_shard_row at = {.row = 0};
    do {
        const spec_part *first = &parts->part[0];
        const uint64_t from = (first->by_groups ? at.row : point) % parts->shards;
        const spec_part *part = &parts->part[from];
        const size_t row = next[from]++;
        const uint64_t expected = at.row + 1, rows = at.rows;
        if (row >= part->table.n_rows ||
            !spec_shard_row_parse(&at,
                                  spec_table_cell(&part->table, row, place_column(part))->text) ||
            at.row != expected || (rows > 0 && at.rows != rows))
            return spec_fail(error, GSL_EINVAL,
                             "%.200s: its points have a different number of groups", part->path);
        for (int c = 0; c < table->n_columns; c++)
            if (spec_cell_copy(&table->row[c], spec_table_cell(&part->table, row, c)) !=
                GSL_SUCCESS)
                return spec_no_memory(error);
        check[table->n_rows] = part->check[row];
        spec_result_count(result, part->check[row], table->n_rows);
        if (spec_table_append(table) != GSL_SUCCESS) return spec_no_memory(error);
    } while (at.row < at.rows);
    return GSL_SUCCESS;
}

static int make_table(spec_table *table, const spec_parts *parts, spec_error *error)
{
    const spec_part *part = &parts->part[0];
    const int n = part->table.n_columns - (part->by_groups ? 1 : 2);
    if (spec_table_init(table, (const char *const *)part->table.column, n) != GSL_SUCCESS)
        return spec_no_memory(error);
    free(table->provenance);
    table->provenance = strdup(parts->head);
    return table->provenance != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

int spec_parts_merge(spec_result *result, const spec_parts *parts, const char *csv_path,
                     FILE *opt_csv, spec_error *error)
{
    spec_result_file file;
    size_t rows = 0, *next = calloc(parts->n, sizeof *next);
    spec_check *check = NULL;
    int status = GSL_SUCCESS, closed;
    *result = (spec_result){0};
    spec_result_file_init(&file, csv_path, opt_csv);
    assert(spec_parts_are_whole(parts));
    for (size_t i = 0; i < parts->n; i++) rows += parts->part[i].table.n_rows;
    check = calloc(rows, sizeof *check);
    if (next == NULL || check == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(make_table(&result->table, parts, error));
    for (uint64_t i = 0; i < parts->points; i++)
        SPEC_TRY(append_point(result, check, parts, next, i, error));
    SPEC_TRY(spec_result_file_open(&file, error));
    file.total = file.done = parts->points;
    SPEC_TRY(spec_result_file_write(&file, &result->table, 0, check, error));
done:
    closed = spec_result_file_close(&file, &result->kept, status == GSL_SUCCESS ? error : NULL);
    free(check);
    free(next);
    return status == GSL_SUCCESS ? closed : status;
}
