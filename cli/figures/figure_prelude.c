/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure_prelude.h"

#include "base/escape.h"
#include "cli/figures/figure_series.h"
#include "cli/figures/figure_words.h"
#include "cli/figures/gnuplot.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_MAX = 60, /* maximum distinct names in a column that a script can draw */
    PLACE_MAX = 8   /* maximum columns that say where a row is drawn */
};

/* The columns in the order of $DATA: numbers, then names. */
typedef struct {
    const spec_figure_column **column;
    int n, n_needed, n_numbers, n_required;
} columns;

static int find_columns(columns *in, spec_figure_data *data, const spec_figure_script *script,
                        spec_error *error)
{
    const spec_word_list *const lists[] = {&script->needs, &script->may_use, &script->names,
                                           &script->may_name};
    int status = GSL_SUCCESS;
    in->column = calloc(
        (size_t)(script->needs.n + script->may_use.n + script->names.n + script->may_name.n) + 1,
        sizeof *in->column);
    if (in->column == NULL) return spec_no_memory(error);
    for (int l = 0; l < 4; l++) {
        for (int i = 0; i < lists[l]->n; i++) {
            const char *name = lists[l]->word[i];
            if (l % 2 == 1 && !spec_figure_data_has(data, name)) continue;
            SPEC_TRY(spec_figure_data_column(&in->column[in->n], data, name, error));
            const spec_figure_column *column = in->column[in->n++];
            if (l < 2 && column->is_text)
                SPEC_TRY(
                    spec_fail(error, GSL_EINVAL,
                              "%s: column '%.60s' holds texts such as '%.60s'; the figure '%s' "
                              "needs numbers",
                              data->path, name, column->level[0], script->name));
            if (l >= 2 && column->n_levels > NAMES_MAX)
                SPEC_TRY(
                    spec_fail(error, GSL_EINVAL,
                              "%s: column '%.60s' has over %d values, too many for the figure '%s'",
                              data->path, name, NAMES_MAX, script->name));
            if (l == 2 && column->n_levels == 0)
                SPEC_TRY(
                    spec_fail(error, GSL_EINVAL, "%s: column '%.60s' is empty", data->path, name));
        }
        if (l == 0) in->n_needed = in->n;
        if (l <= 1) in->n_numbers = in->n;
        if (l <= 2) in->n_required = in->n;
    }
done:
    return status;
}

/* Checks that some row has all required numbers, and a name in each column of names. */
static int check_rows(const columns *in, const spec_figure_data *data,
                      const spec_figure_script *script, spec_error *error)
{
    for (size_t r = 0; r < data->n_rows; r++) {
        bool all = true;
        for (int i = 0; i < in->n; i++)
            all = all && (!isnan(in->column[i]->value[r]) ||
                          (i >= in->n_needed && i < in->n_numbers) || i >= in->n_required);
        if (all) return GSL_SUCCESS;
    }
    char list[200] = "";
    size_t used = 0;
    for (int i = 0; i < in->n_needed && used + 70 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.60s", i > 0 ? ", " : "",
                                 in->column[i]->name);
    return spec_fail(error, GSL_EINVAL, "%s: no row has the numbers that the figure '%s' needs: %s",
                     data->path, script->name, list);
}

/* ---- rows of one place ----------------------------------------------------------------------- */

typedef struct {
    size_t row;
    int n;
    double place[PLACE_MAX];
} placed_row;

static int by_place(const void *a, const void *b)
{
    const placed_row *p = a, *q = b;
    for (int i = 0; i < p->n; i++)
        if (p->place[i] != q->place[i]) return p->place[i] < q->place[i] ? -1 : 1;
    return (p->row > q->row) - (p->row < q->row);
}

/* Finds the columns that determine where the script draws a row. */
static int place_columns(const spec_figure_column **ret, int *ret_n, spec_figure_data *data,
                         const spec_figure_script *script, spec_error *error)
{
    const spec_word_list *const lists[] = {&script->row, &script->names, &script->may_name};
    int status = GSL_SUCCESS;
    *ret_n = 0;
    for (int l = 0; l < 3; l++)
        for (int i = 0; i < lists[l]->n && *ret_n < PLACE_MAX; i++)
            if (spec_figure_data_has(data, lists[l]->word[i]))
                SPEC_TRY(spec_figure_data_column(&ret[(*ret_n)++], data, lists[l]->word[i], error));
done:
    return status;
}

/* Refuses two rows that would be drawn at the same position: they differ in something that the
 * figure does not show, so a line through both would be wrong. */
static int check_places(spec_figure_data *data, const spec_figure_script *script, spec_error *error)
{
    const spec_figure_column *column[PLACE_MAX];
    int n, status = GSL_SUCCESS;
    size_t n_placed = 0;
    placed_row *placed = NULL;
    if (script->row.n == 0) return GSL_SUCCESS;
    SPEC_TRY(place_columns(column, &n, data, script, error));
    if ((placed = calloc(data->n_rows, sizeof *placed)) == NULL) SPEC_TRY(spec_no_memory(error));
    for (size_t r = 0; r < data->n_rows; r++) {
        bool drawn = true;
        placed[n_placed] = (placed_row){.row = r, .n = n};
        for (int i = 0; i < n; i++) {
            const double value = column[i]->value[r];
            placed[n_placed].place[i] = isnan(value) ? -INFINITY : value;
            const bool optional = spec_word_list_has(&script->may_use, column[i]->name) ||
                                  spec_word_list_has(&script->may_name, column[i]->name);
            drawn = drawn && (optional || !isnan(value));
        }
        n_placed += drawn ? 1 : 0;
    }
    qsort(placed, n_placed, sizeof *placed, by_place);
    for (size_t r = 1; r < n_placed; r++) {
        char differ[160];
        if (memcmp(placed[r].place, placed[r - 1].place, sizeof placed[r].place) != 0) continue;
        spec_figure_series_differ(differ, sizeof differ, data, placed[r].row, placed[r - 1].row,
                                  &script->axes);
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%s: several rows fall on one point of the figure '%s'%s%s; choose one "
                           "of them with --where",
                           data->path, script->name, differ[0] != '\0' ? ", which differ in " : "",
                           differ));
    }
done:
    free(placed);
    return status;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void write_data(FILE *out, const columns *in, const spec_figure_data *data)
{
    fputs("$DATA << END\n", out);
    for (int i = 0; i < in->n; i++) fprintf(out, "%s%s", i > 0 ? "," : "", in->column[i]->name);
    for (size_t r = 0; r < data->n_rows; r++) {
        for (int i = 0; i < in->n; i++) {
            const double value = in->column[i]->value[r];
            const int level = i < in->n_numbers ? 0 : spec_figure_column_level(in->column[i], r);
            spec_gnuplot_number(out, i == 0 ? '\n' : ',',
                                i < in->n_numbers ? value
                                : level < 0       ? NAN
                                                  : (double)level + 1.0);
        }
    }
    fputs("\nEND\n", out);
}

static int write_names(FILE *out, const spec_figure_column *column, spec_error *error)
{
    const int n = column->n_levels;
    const char *const kinds[] = {"name", "tic", "text", "value"};
    if (n == 0) return GSL_SUCCESS; /* a column without values counts as missing */
    for (int i = 0; i < 4; i++) fprintf(out, "array %s_%s[%d]\n", column->name, kinds[i], n);
    for (int i = 0; i < n; i++) {
        char *text = spec_figure_words_value(column->name, column->level[i], false);
        if (text == NULL) return spec_no_memory(error);
        fprintf(out, "%s_name[%d] = ", column->name, i + 1);
        spec_escape_gnuplot(out, text);
        fprintf(out, "; %s_tic[%d] = ", column->name, i + 1);
        spec_escape_gnuplot_tic(out, text);
        free(text);
        fprintf(out, "; %s_text[%d] = ", column->name, i + 1);
        spec_escape_gnuplot(out, column->level[i]);
        fprintf(out, "; %s_value[%d] =", column->name, i + 1);
        spec_gnuplot_number(out, ' ', column->is_text ? NAN : column->level_value[i]);
        fputc('\n', out);
    }
    return GSL_SUCCESS;
}

/* Writes has_NAME: an optional column without any number counts as missing. */
static int write_has(FILE *out, spec_figure_data *data, const char *name, spec_error *error)
{
    const spec_figure_column *column = NULL;
    int status = GSL_SUCCESS;
    if (spec_figure_data_has(data, name))
        status = spec_figure_data_column(&column, data, name, error);
    fprintf(out, "has_%s = %d\n", name, column != NULL && column->n_levels > 0);
    return status;
}

/* Writes said_false_alarms for the key "false alarms". */
static void write_said(FILE *out, const spec_figure_data *data, const char *key)
{
    char value[256] = "";
    key += strspn(key, " ");
    spec_table_provenance(&data->table, key, value, sizeof value);
    fputs("said_", out);
    for (; *key != '\0'; key++) fputc(*key == ' ' ? '_' : *key, out);
    fputs(" = ", out);
    spec_escape_gnuplot(out, value);
    fputc('\n', out);
}

int spec_figure_prelude_write(FILE *out, spec_figure_data *data, const spec_figure_script *script,
                              spec_error *error)
{
    columns in = {0};
    int status = GSL_SUCCESS;
    SPEC_TRY(find_columns(&in, data, script, error));
    SPEC_TRY(check_rows(&in, data, script, error));
    SPEC_TRY(check_places(data, script, error));
    write_data(out, &in, data);
    for (int i = in.n_numbers; i < in.n; i++) SPEC_TRY(write_names(out, in.column[i], error));
    for (int i = 0; i < script->may_use.n; i++)
        SPEC_TRY(write_has(out, data, script->may_use.word[i], error));
    for (int i = 0; i < script->may_name.n; i++)
        SPEC_TRY(write_has(out, data, script->may_name.word[i], error));
    for (int i = 0; i < script->said.n; i++) write_said(out, data, script->said.word[i]);
done:
    free(in.column);
    return status;
}
