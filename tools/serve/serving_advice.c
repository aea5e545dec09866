/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/serving_advice.h"

#include "base/memory_text.h"
#include "experiments/measures/measure.h"
#include "speclab/no_memory.h"
#include "tools/serve/serving_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct {
    char *group; /* the cells that all rows of a group share, such as "alpha 0.6" */
    double load; /* requests/s, or slots of a closed loop */
    const char *lengths, *state, *as_good;
    double K, best_K, latency, speedup, low, high, capacity, drift_z, little_z;
    double least, most; /* range of speed-ups that uncertain costs leave open; NaN: none */
    /* the largest latency that uncertain costs leave open; infinite: above the capacity */
    double worst;
    double share;       /* load as a share of the capacity */
    double memory;      /* share of the cards' memory */
} advice_row;

typedef struct {
    const spec_table *table;
    FILE *out;
    const char *unit; /* unit of loads */
    advice_row *row;  /* (n) */
    size_t n;
} advice;

static double cell_number(const advice *a, size_t row, const char *column)
{
    const int c = spec_table_column(a->table, column);
    return c < 0 ? NAN : spec_cell_number(spec_table_cell(a->table, row, c));
}

static const char *cell_text(const advice *a, size_t row, const char *column)
{
    const int c = spec_table_column(a->table, column);
    const spec_cell *cell = c < 0 ? NULL : spec_table_cell(a->table, row, c);
    return cell != NULL && cell->kind == SPEC_CELL_TEXT ? cell->text : "";
}

static bool is_constant(const spec_table *table, int column)
{
    char first[40], other[40];
    for (size_t r = 1; r < table->n_rows; r++)
        if (strcmp(spec_cell_format(spec_table_cell(table, 0, column), SPEC_FORMAT_TABLE, first,
                                    sizeof first),
                   spec_cell_format(spec_table_cell(table, r, column), SPEC_FORMAT_TABLE, other,
                                    sizeof other)) != 0)
            return false;
    return true;
}

/* Returns the name of a row's group: the parameters, other than the load, that differ between
 * rows. */
static char *group_of(const advice *a, size_t row)
{
    static const char *const loads[] = {"slots", "speed", "row_check"};
    const spec_measure *measure;
    spec_memory_text made;
    bool first = true;
    if (spec_measure_find(&measure, "serve", NULL) != GSL_SUCCESS || !spec_memory_text_open(&made))
        return NULL;
    for (int c = 0; c < a->table->n_columns; c++) {
        const char *name = a->table->column[c];
        bool skip = spec_measure_tells(measure, name) || is_constant(a->table, c);
        for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
            skip = skip || strcmp(name, loads[i]) == 0;
        if (skip) continue;
        char text[40];
        fprintf(made.out, "%s%s %s", first ? "" : ", ", name,
                spec_cell_format(spec_table_cell(a->table, row, c), SPEC_FORMAT_TABLE, text,
                                 sizeof text));
        first = false;
    }
    return spec_memory_text_take(&made, NULL);
}

static int read_rows(advice *a)
{
    const bool closed = isnan(cell_number(a, 0, "rate"));
    a->unit = closed ? "requests in the system" : "requests/s";
    if ((a->row = calloc(a->table->n_rows, sizeof *a->row)) == NULL) return GSL_ENOMEM;
    for (size_t r = 0; r < a->table->n_rows; r++) {
        advice_row *row = &a->row[a->n++];
        *row = (advice_row){.group = group_of(a, r),
                            .load = cell_number(a, r, closed ? "slots" : "rate"),
                            .lengths = cell_text(a, r, "lengths"),
                            .state = cell_text(a, r, "state"),
                            .as_good = cell_text(a, r, "as_good"),
                            .K = cell_number(a, r, "K"),
                            .best_K = cell_number(a, r, "best_K"),
                            .latency = cell_number(a, r, "latency_ms"),
                            .speedup = cell_number(a, r, "speedup"),
                            .low = cell_number(a, r, "speedup_low"),
                            .high = cell_number(a, r, "speedup_high"),
                            .capacity = cell_number(a, r, "capacity"),
                            .share = cell_number(a, r, "load"),
                            .memory = cell_number(a, r, "memory_share"),
                            .drift_z = cell_number(a, r, "drift_z"),
                            .little_z = cell_number(a, r, "little_z"),
                            .least = cell_number(a, r, "speedup_least"),
                            .most = cell_number(a, r, "speedup_most"),
                            .worst = cell_number(a, r, "latency_most_ms")};
        if (row->group == NULL) return GSL_ENOMEM;
    }
    return GSL_SUCCESS;
}

/* Compares rows of a group by load; rows of equal load keep their order. */
static int by_load(const void *a, const void *b)
{
    const advice_row *const *x = a, *const *y = b;
    if ((*x)->load != (*y)->load) return (*x)->load < (*y)->load ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

/* ---- sentences ------------------------------------------------------------------------------- */

static bool is_fixed(const advice_row *row)
{
    return strcmp(row->lengths, "fixed") == 0;
}

static void write_way(FILE *out, const advice_row *row)
{
    if (is_fixed(row))
        fprintf(out, "K = %g", row->K);
    else
        fprintf(out, "%s", row->lengths);
}

static bool is_refused(const advice_row *row)
{
    return strcmp(row->state, spec_serving_state_names[SPEC_SERVING_OVER]) == 0 ||
           strcmp(row->state, spec_serving_state_names[SPEC_SERVING_UNSTEADY]) == 0;
}

static bool is_same_way(const advice_row *a, const advice_row *b)
{
    return a->K == b->K && strcmp(a->lengths, b->lengths) == 0;
}

/* Writes the loads at which a method has no result, and whether a trace is above its capacity. */
static void write_refused(const advice *a, advice_row *const *row, size_t n, size_t first)
{
    const advice_row *way = row[first], *over = NULL, *unsteady = NULL, *rushed = NULL;
    const char *colon = way->group[0] != '\0' ? ": " : "";
    for (size_t i = 0; i < first; i++)
        if (is_same_way(row[i], way)) return; /* already written */
    for (size_t i = first; i < n; i++) {
        if (!is_same_way(row[i], way)) continue;
        if (!is_refused(row[i])) {
            /* a replayed trace above its capacity */
            if (row[i]->share >= 1.0 && rushed == NULL) rushed = row[i];
            continue;
        }
        if (strcmp(row[i]->state, spec_serving_state_names[SPEC_SERVING_OVER]) == 0)
            over = over == NULL ? row[i] : over;
        else
            unsteady = unsteady == NULL ? row[i] : unsteady;
    }
    if (over != NULL) {
        fprintf(a->out, "%s%s", way->group, colon);
        write_way(a->out, way);
        fprintf(a->out,
                " serves at most %.4g requests/s: from %g requests/s on there is no latency to "
                "print\n",
                way->capacity, over->load);
    }
    if (rushed != NULL) {
        fprintf(a->out, "%s%s", way->group, colon);
        write_way(a->out, way);
        fprintf(a->out,
                " serves at most %.4g requests/s: at %.4g the queue grows throughout the trace\n",
                way->capacity, rushed->load);
    }
    if (unsteady != NULL) {
        fprintf(a->out, "%s%s", way->group, colon);
        write_way(a->out, way);
        fprintf(a->out, " at %g %s", unsteady->load, a->unit);
        if (!isnan(unsteady->share)) fprintf(a->out, ", load %.3g", unsteady->share);
        fputs(": ", a->out);
        if (isnan(unsteady->drift_z))
            fprintf(a->out, "the warm-up is too short");
        else if (fabs(unsteady->drift_z) > SPEC_SERVING_DRIFT_Z)
            fprintf(a->out, "mean latency still changes (drift_z %.1f)", unsteady->drift_z);
        else
            fprintf(a->out, "mean latency contradicts Little's law (little_z %.1f)",
                    unsteady->little_z);
        fprintf(a->out, ", so there is no result; give a larger --warm and --requests, or a lower "
                        "rate\n");
    }
}

/* A load that has a result: the row of the best method, the row of the best fixed K, and the other
 * K that are as good. */
typedef struct {
    double load;
    const advice_row *best, *fixed; /* fixed: NULL if no fixed K has a result */
    const char *as_good;
} advice_load;

/* Stands for plain decoding if the user did not list it, so that it has no row; its speed-up is
 * 1. */
static const advice_row unasked_plain = {.lengths = "fixed", .speedup = 1.0, .share = NAN};

static const advice_row *fixed_at(advice_row *const *row, size_t n)
{
    if (isnan(row[0]->best_K)) return NULL;
    for (size_t k = 0; k < n; k++)
        if (is_fixed(row[k]) && row[k]->K == row[0]->best_K) return row[k];
    return &unasked_plain;
}

/* Either all rows of a load have a speed-up, or none does, because plain decoding has no result. */
static bool is_faster(const advice_row *a, const advice_row *b)
{
    return isnan(a->speedup) ? a->latency < b->latency : a->speedup > b->speedup;
}

/* Returns whether a method that has no result, because it was not steady, might serve this load
 * better than the best row. It cannot if the load is a larger share of its capacity than of the
 * best row's. */
static bool is_open(const advice_row *best, advice_row *const *row, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (strcmp(row[k]->state, spec_serving_state_names[SPEC_SERVING_UNSTEADY]) == 0 &&
            !(row[k]->share > best->share))
            return true;
    return false;
}

/* Finds the loads that have a result, given rows sorted by load; returns their number. */
static size_t find_loads(advice_load *at, advice_row *const *row, size_t n)
{
    size_t found = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && row[end]->load == row[i]->load;) end++;
        const advice_row *fixed = fixed_at(row + i, end - i), *best = fixed;
        for (size_t k = i; k < end; k++)
            if (!is_fixed(row[k]) && !is_refused(row[k]) &&
                (best == NULL || is_faster(row[k], best)))
                best = row[k];
        if (best != NULL && !is_open(best, row + i, end - i))
            at[found++] = (advice_load){row[i]->load, best, fixed, row[i]->as_good};
    }
    return found;
}

/* Writes, e.g., "K = 3 (not distinguished from 5)". */
static void write_best(FILE *out, const advice_load *at)
{
    write_way(out, at->best);
    if (at->best == at->fixed && at->as_good[0] != '\0')
        fprintf(out, " (not distinguished from %s)", at->as_good);
}

static void write_interval(FILE *out, const advice_row *row)
{
    if (!isnan(row->low)) fprintf(out, " [%.3g, %.3g]", row->low, row->high);
}

static void write_gain(FILE *out, const advice_load *at)
{
    const advice_row *best = at->best, *fixed = at->fixed;
    if (is_fixed(best) && best->K == 0.0) {
        fprintf(out, ": no other choice has a lower latency");
        return;
    }
    if (isnan(best->speedup)) {
        fprintf(out, ": plain decoding has no result at this load");
    } else {
        fprintf(out, ": latency %.3g times lower than without speculation", best->speedup);
        write_interval(out, best);
        if (isinf(best->worst))
            fprintf(out, ", but with other plausible costs this load is above the capacity");
        else if (best->least < best->most)
            fprintf(out, ", and %.3g to %.3g with other plausible costs",
                    fmin(best->least, best->speedup), fmax(best->most, best->speedup));
    }
    if (best == fixed || fixed == NULL || fixed == &unasked_plain) return;
    fprintf(out, "; the best fixed K is %g", fixed->K);
    if (isnan(fixed->speedup)) return;
    fprintf(out, ", %.3g times", fixed->speedup);
    write_interval(out, fixed);
}

/* Returns whether a row is as good at this load as the best one; its column as_good lists the K
 * that are, such as "1 3". */
static bool is_as_good(const advice_load *at, const advice_row *way)
{
    if (is_same_way(at->best, way)) return true;
    if (at->best != at->fixed || !is_fixed(way)) return false;
    for (char *end = (char *)at->as_good; *end != '\0';) {
        const char *from = end;
        if (strtod(from, &end) == way->K && end != from) return true;
        if (end == from) break;
    }
    return false;
}

/* If the best method changes with the load, writes, e.g., "; K = 5 up to 12, K = 3 from 14 to 30, K
 * = 0 from 36 requests/s on". A method is kept as long as no other one is significantly better. */
static void write_schedule(const advice *a, const advice_load *at, size_t n)
{
    const char *between = "; ";
    for (size_t i = 0, last; i < n; i = last + 1) {
        for (last = i; last + 1 < n && is_as_good(&at[last + 1], at[i].best);) last++;
        if (i == 0 && last + 1 == n) return;
        fputs(between, a->out);
        write_way(a->out, at[i].best);
        if (i == 0)
            fprintf(a->out, " up to %.4g", at[last].load);
        else if (last + 1 == n)
            fprintf(a->out, " from %.4g %s on", at[i].load, a->unit);
        else if (last == i)
            fprintf(a->out, " at %.4g", at[i].load);
        else
            fprintf(a->out, " from %.4g to %.4g", at[i].load, at[last].load);
        between = ", ";
    }
}

/* Writes that the intervals of a group need more requests: its state is "short: needs N
 * requests". */
static void write_short(const advice *a, advice_row *const *row, size_t n)
{
    const char *name = spec_serving_state_names[SPEC_SERVING_SHORT];
    for (size_t i = 0; i < n; i++) {
        unsigned long long needed;
        if (strncmp(row[i]->state, name, strlen(name)) != 0 ||
            sscanf(row[i]->state + strlen(name), ": needs %llu", &needed) != 1)
            continue;
        fprintf(a->out,
                "%s%sa few long requests decide, and intervals are too narrow: give --requests "
                "%llu\n",
                row[i]->group, row[i]->group[0] != '\0' ? ": " : "", needed);
        return;
    }
}

/* Warns of the first row of a group whose KV caches would exceed the cards' memory; the run did not
 * limit them. */
static void write_memory(const advice *a, advice_row *const *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(row[i]->memory > 1.0)) continue;
        fprintf(a->out, "%s%s", row[i]->group, row[i]->group[0] != '\0' ? ": " : "");
        write_way(a->out, row[i]);
        fprintf(a->out,
                " at %g %s: weights and KV caches need %.3g times the cards' memory; limit the "
                "caches with --memory\n",
                row[i]->load, a->unit, row[i]->memory);
        return;
    }
}

/* Writes why no method is recommended at any load. */
static void write_none(const advice *a, advice_row *const *row, size_t n)
{
    const advice_row *largest = row[0];
    for (size_t k = 0; k < n; k++) {
        if (strcmp(row[k]->state, spec_serving_state_names[SPEC_SERVING_OVER]) != 0) {
            fputs("no recommendation: the runs of a choice that may be the best are too short\n",
                  a->out);
            return;
        }
        if (row[k]->capacity > largest->capacity) largest = row[k];
    }
    fputs("none of these choices serves any of these loads; ", a->out);
    write_way(a->out, largest);
    fprintf(a->out, " has the largest capacity, %.3g requests/s\n", largest->capacity);
}

/* Writes the sentence of a group, whose rows are sorted by load. */
static int write_sentence(const advice *a, advice_row *const *row, size_t n)
{
    advice_load *at = calloc(n, sizeof *at);
    if (at == NULL) return GSL_ENOMEM;
    const size_t loads = find_loads(at, row, n);
    fprintf(a->out, "%s%s", row[0]->group, row[0]->group[0] != '\0' ? ": " : "");
    if (loads == 0) {
        write_none(a, row, n);
    } else {
        const advice_load *chosen = &at[loads / 2];
        fprintf(a->out, "at %.4g %s ", chosen->load, a->unit);
        write_best(a->out, chosen);
        write_gain(a->out, chosen);
        write_schedule(a, at, loads);
        fputc('\n', a->out);
    }
    free(at);
    return GSL_SUCCESS;
}

int spec_serving_advice_write(FILE *out, uint64_t *ret_refused, const spec_table *table,
                              spec_error *error)
{
    advice a = {.table = table, .out = out};
    advice_row **of = NULL;
    int status = GSL_SUCCESS, groups = 0;
    *ret_refused = 0;
    if (table->n_rows == 0) return GSL_SUCCESS;
    of = calloc(table->n_rows, sizeof *of);
    if (of == NULL || read_rows(&a) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
    for (size_t r = 0; r < a.n; r++) {
        size_t n = 0;
        bool begins = true;
        *ret_refused += is_refused(&a.row[r]);
        for (size_t k = 0; k < r; k++)
            begins = begins && strcmp(a.row[k].group, a.row[r].group) != 0;
        if (!begins || ++groups > SPEC_SERVING_ADVICE_GROUPS) continue;
        for (size_t k = r; k < a.n; k++)
            if (strcmp(a.row[k].group, a.row[r].group) == 0) of[n++] = &a.row[k];
        qsort(of, n, sizeof *of, by_load);
        for (size_t k = 0; k < n; k++) write_refused(&a, of, n, k);
        write_short(&a, of, n);
        write_memory(&a, of, n);
        if (write_sentence(&a, of, n) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
    }
done:
    for (size_t r = 0; a.row != NULL && r < a.n; r++) free(a.row[r].group);
    free(a.row);
    free(of);
    return status;
}
