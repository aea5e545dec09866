/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_result.h"

#include "tools/bench/timing_report.h"

#include <math.h>
#include <string.h>

enum { LIST_SIZE = 512 };

/* The tolerance of checks, because a CSV has numbers of only ten digits. */
static const double rounding = 1e-6;

/* Keeps a row's first error; later reads return NaN. */
typedef struct {
    const spec_table *table;
    const char *name;
    size_t row;
    spec_error *error;
    int status;
} reader;

static int wrong(reader *in, const char *column, const char *what)
{
    if (in->status == GSL_SUCCESS)
        in->status = spec_fail(in->error, GSL_EINVAL, "%.200s: row %zu: '%s' %s", in->name,
                               in->row + 1, column, what);
    return in->status;
}

static int check_columns(const spec_table *table, const char *name, spec_error *error)
{
    for (int i = 0; spec_timing_report_columns[i] != NULL; i++)
        if (spec_table_column(table, spec_timing_report_columns[i]) < 0)
            return spec_fail(error, GSL_EINVAL,
                             "%.200s: it has no column '%s': give a CSV that 'speclab bench -o' of "
                             "this version wrote",
                             name, spec_timing_report_columns[i]);
    return GSL_SUCCESS;
}

static const spec_cell *cell_of(const reader *in, const char *column)
{
    return spec_table_cell(in->table, in->row, spec_table_column(in->table, column));
}

/* Reads a number in [low, high], or NaN for an empty cell. */
static double number(reader *in, const char *column, double low, double high)
{
    const spec_cell *cell = cell_of(in, column);
    if (cell->kind == SPEC_CELL_EMPTY) return NAN;
    const double value = spec_cell_number(cell);
    if (value >= low && value <= high) return value;
    wrong(in, column, "is out of its range");
    return NAN;
}

/* Reads a number that must be present. */
static double needed(reader *in, const char *column, double low, double high)
{
    const double value = number(in, column, low, high);
    if (isnan(value)) wrong(in, column, "is empty");
    return value;
}

static int whole(reader *in, const char *column, int low, int high)
{
    const double value = needed(in, column, low, high);
    if (value == floor(value)) return (int)value;
    wrong(in, column, "is not a whole number");
    return low;
}

static bool says(const reader *in, const char *column, const char *word)
{
    const spec_cell *cell = cell_of(in, column);
    return cell->kind == SPEC_CELL_TEXT && strcmp(cell->text, word) == 0;
}

/* Checks that only the columns meant for words have texts, and only texts that bench writes. */
static void check_texts(reader *in)
{
    static const char *const words[][3] = {
        {"best", "best", "alike"}, {"clock", "wall", "processor"}, {"verify", "host", "device"}};
    for (int c = 0; c < in->table->n_columns; c++) {
        const spec_cell *cell = spec_table_cell(in->table, in->row, c);
        const char *column = in->table->column[c];
        if (cell->kind != SPEC_CELL_TEXT || strcmp(column, "beta") == 0) continue;
        bool known = false;
        for (int i = 0; i < 3; i++)
            known = known ||
                    (strcmp(column, words[i][0]) == 0 && (strcmp(cell->text, words[i][1]) == 0 ||
                                                          strcmp(cell->text, words[i][2]) == 0));
        if (!known) wrong(in, column, "is a text, where a number belongs");
    }
}

static bool is_empty(const reader *in, const char *column)
{
    return cell_of(in, column)->kind == SPEC_CELL_EMPTY;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Checks that the numbers of a row agree: tokens plain / round is the speed-up, unless that was
 * cut. */
static void check_row(reader *in, const spec_timing_result_row *row, double plain)
{
    const double parts = row->draft + row->verify + fmax(0.0, row->during) + row->rule + row->rest;
    const double ratio = plain / row->round;
    if (fabs(parts / row->round - 1.0) > rounding)
        wrong(in, "round_ms", "is not the sum of its parts: it was edited");
    if (row->tokens > row->K + 1 + rounding)
        wrong(in, "tokens_per_round", "is above K + 1: it was edited");
    if (isnan(row->speedup)) {
        if (row->tied) wrong(in, "best", "is marked where there is no speed-up: it was edited");
        return;
    }
    if (row->K == 0 && row->tied) wrong(in, "best", "is marked at K = 0: it was edited");
    if (!(fabs(row->speedup / (row->tokens * fmin(1.0, ratio)) - 1.0) < rounding))
        wrong(in, "speedup",
              "is not what plain_ms, round_ms and tokens_per_round give: it was edited");
    if (!(row->low <= row->speedup * (1.0 + rounding) &&
          row->speedup <= row->high * (1.0 + rounding)))
        wrong(in, "speedup", "is outside its interval: it was edited");
}

static void read_row(reader *in, spec_timing_result *result)
{
    const double least = 1e-12, most = 1e12;
    spec_timing_result_row *row = &result->row[result->n_rows];
    *row = (spec_timing_result_row){
        .row = in->row,
        .K = whole(in, "K", 0, SPEC_K_MAX),
        .ahead = whole(in, "ahead", 0, 1),
        .tied = says(in, "best", "best") || says(in, "best", "alike"),
        .tokens = needed(in, "tokens_per_round", 1.0, SPEC_K_MAX + 1.0),
        .speedup = number(in, "speedup", 0.0, most),
        .low = number(in, "speedup_low", 0.0, most),
        .high = number(in, "speedup_high", 0.0, INFINITY), /* two noisy texts give no upper bound */
        .predicted = number(in, "speedup_predicted", 0.0, most),
        .costed = number(in, "speedup_costed", 0.0, most),
        .round = number(in, "round_ms", least, most),
        .draft = number(in, "draft_ms", 0.0, most),
        .verify = number(in, "verify_ms", 0.0, most),
        .during = number(in, "ahead_ms", 0.0, most),
        .rule = number(in, "rule_ms", 0.0, most),
        .rest = number(in, "rest_ms", 0.0, most),
    };
    if (result->n_rows++ > 0) {
        check_row(in, row, result->plain);
        return;
    }
    result->plain = needed(in, "plain_ms", least, most);
    result->alpha = number(in, "alpha_tested_pooled", 0.0, 1.0);
    result->c = number(in, "c", 0.0, most);
    result->c_low = number(in, "c_low", 0.0, most);
    result->c_high = number(in, "c_high", 0.0, INFINITY);
    result->has_draft = !is_empty(in, "draft_pass_ms");
    result->texts = whole(in, "texts", 2, SPEC_TIMING_TEXTS_MAX);
    result->trust = (spec_timing_trust){
        .threads = whole(in, "threads", 1, 1 << 20),
        .processors = whole(in, "processors", 0, 1 << 20),
        .processor_clock = says(in, "clock", "processor"),
        .waits_on_card = whole(in, "waits_on_card", 0, 1),
        .others = number(in, "others", 0.0, most),
        .lost = number(in, "lost", 0.0, 1.0),
        .spread = number(in, "plain_spread", 0.0, most),
        .speed_spread = number(in, "speed_spread", 0.0, most),
    };
    check_row(in, row, result->plain);
}

static void read_pass(reader *in, spec_timing_result *result)
{
    const int width = whole(in, "pass", 1, SPEC_NODES_MAX + 1);
    const double target = number(in, "target_pass_ms", 0.0, 1e12);
    int at = 0;
    if (isnan(target)) return; /* no text was long enough */
    while (at < result->n_passes && result->width[at] < width) at++;
    if (at < result->n_passes && result->width[at] == width) return; /* the way that drafts ahead */
    if (result->n_passes == SPEC_TIMING_WIDTHS_MAX) {
        wrong(in, "pass", "is one of too many");
        return;
    }
    const size_t after = (size_t)(result->n_passes++ - at);
    memmove(result->width + at + 1, result->width + at, after * sizeof result->width[0]);
    memmove(result->pass_row + at + 1, result->pass_row + at, after * sizeof result->pass_row[0]);
    memmove(result->target + at + 1, result->target + at, after * sizeof result->target[0]);
    result->width[at] = width;
    result->pass_row[at] = in->row;
    result->target[at] = target;
}

/* Marks the row whose interval has the largest lower end. */
static void find_best(spec_timing_result *result)
{
    spec_timing_result_row *best = NULL;
    for (int i = 0; i < result->n_rows; i++) {
        spec_timing_result_row *row = &result->row[i];
        if (row->K > 0 && !isnan(row->speedup) && (best == NULL || row->low > best->low))
            best = row;
    }
    if (best != NULL) best->best = true;
}

int spec_timing_result_init(spec_timing_result *result, const spec_table *table, const char *name,
                            spec_error *error)
{
    reader in = {
        .table = table, .name = name, .error = error, .status = check_columns(table, name, error)};
    *result = (spec_timing_result){.table = table};
    for (; in.row < table->n_rows && in.status == GSL_SUCCESS; in.row++) {
        check_texts(&in);
        if (!is_empty(&in, "K")) {
            if (result->n_rows == SPEC_TIMING_SPEEDS_MAX)
                return wrong(&in, "K", "is one of too many");
            read_row(&in, result);
        }
        if (!is_empty(&in, "pass")) read_pass(&in, result);
    }
    if (in.status == GSL_SUCCESS && result->n_rows == 0)
        in.status = spec_fail(
            error, GSL_EINVAL,
            "%.200s: it has no row with a K: give a CSV that 'speclab bench -o' wrote", name);
    if (in.status == GSL_SUCCESS && (result->n_passes == 0 || result->width[0] != 1))
        in.status =
            spec_fail(error, GSL_EINVAL, "%.200s: it has no row of the pass of one token", name);
    find_best(result);
    return in.status;
}

/* ---- the warning ----------------------------------------------------------------------------- */

static bool is_vague(double value, double low)
{
    return isnan(value) && !isnan(low);
}

/* Adds "K = 2, 3 and 5 ahead" for these rows to the list. Returns how many. */
static int add_rows(char *list, size_t size, const spec_timing_result *result, bool vague)
{
    size_t used = strlen(list);
    int n = 0;
    for (int i = 0; i < result->n_rows; i++) {
        const spec_timing_result_row *row = &result->row[i];
        if (!isnan(row->speedup) || is_vague(row->speedup, row->low) != vague || used + 32 > size)
            continue;
        used += (size_t)snprintf(list + used, size - used, "%s%d%s",
                                 n++ > 0    ? ", "
                                 : used > 0 ? ", the speed-up at K = "
                                            : "the speed-up at K = ",
                                 row->K, row->ahead ? " ahead" : "");
    }
    if (n > 0)
        snprintf(list + used, size - used,
                 vague ? " (known to no better than a factor of two)"
                       : " (a round cannot take less than a plain token)");
    return n;
}

/* Writes "c (known to no better than a factor of two), the speed-up at K = 2 (...)"; returns false
 * if nothing is withheld. */
static bool list_withheld(char *list, size_t size, const spec_timing_result *result)
{
    list[0] = '\0';
    if (is_vague(result->c, result->c_low))
        snprintf(list, size, "c (known to no better than a factor of two)");
    add_rows(list, size, result, true);
    add_rows(list, size, result, false);
    return list[0] != '\0';
}

bool spec_timing_result_warning(char *line, size_t size, const spec_timing_result *result)
{
    char list[LIST_SIZE];
    const bool withheld = list_withheld(list, sizeof list, result);
    return spec_timing_trust_line(line, size, &result->trust, withheld ? list : NULL,
                                  "more --texts", true);
}
