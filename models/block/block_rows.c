/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/block/block_rows.h"

#include "base/noise.h"
#include "models/block/low_rank.h"
#include "models/row.h"
#include "models/synthetic/perturb.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX 0x1p27      /* numbers in memory, 1 GB */
#define DECOMPOSITION_MAX 1e8 /* multiplications per sweep */

const char *const spec_block_row_names[] = {"best", "mean", "greedy", NULL};

int spec_block_settings_check(const spec_block_settings *settings, const char *name,
                              spec_error *error)
{
    int status = GSL_SUCCESS;
    const double V = settings->target->vocab, paths = settings->paths, reach = settings->reach;
    /* numbers needed to compute an offset */
    const double segments = 3.0 * paths * V, tokens = fmin(paths, V);
    double cells;
    SPEC_TRY(
        spec_predecessors_size(&cells, settings->target, settings->paths, settings->reach, error));
    cells += segments + reach * V * (settings->by_token ? tokens + 1.0 : 1.0);
    if (cells > CELLS_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%s: rows of %d tokens with paths=%d and reach=%d take %.1f GB, more "
                           "than 1 GB; use fewer paths",
                           name, settings->target->vocab, settings->paths, settings->reach,
                           cells * sizeof(double) * 0x1p-30));
    if (settings->rank > 0 && V * tokens * tokens > DECOMPOSITION_MAX)
        status = spec_fail(error, GSL_EINVAL,
                           "%s: rank=%d decomposes a matrix of %d by %.0f in each round, which is "
                           "too slow; use fewer paths, or leave out rank",
                           name, settings->rank, settings->target->vocab, tokens);
done:
    return status;
}

static int init_by_token(spec_block_rows *rows, spec_error *error)
{
    const spec_block_settings *set = rows->settings;
    const size_t paths = (size_t)set->paths, V = (size_t)set->target->vocab,
                 tokens = paths < V ? paths : V;
    rows->by_token = calloc((size_t)set->reach, sizeof *rows->by_token);
    if (rows->by_token == NULL) return spec_no_memory(error);
    for (int i = 1; i < set->reach; i++) { /* the first offset has no previous token */
        rows->by_token[i].token = malloc(paths * sizeof *rows->by_token[i].token);
        rows->by_token[i].row = malloc(tokens * V * sizeof *rows->by_token[i].row);
        if (rows->by_token[i].token == NULL || rows->by_token[i].row == NULL)
            return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

int spec_block_rows_init(spec_block_rows *rows, const spec_block_settings *settings,
                         spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t paths = (size_t)settings->paths, V = (size_t)settings->target->vocab;
    *rows = (spec_block_rows){.settings = settings};
    SPEC_TRY(spec_predecessors_init(&rows->at, settings->target, settings->paths, settings->reach,
                                    settings->seed, error));
    rows->row = malloc((size_t)settings->reach * V * sizeof *rows->row);
    rows->draft = malloc(paths * sizeof *rows->draft);
    rows->chosen = malloc(paths * sizeof *rows->chosen);
    rows->chosen_weight = malloc(paths * sizeof *rows->chosen_weight);
    rows->segment = malloc(paths * V * sizeof *rows->segment);
    rows->best = malloc(2 * V * sizeof *rows->best);
    rows->candidate = malloc(((size_t)settings->top + 1) * sizeof *rows->candidate);
    if (rows->row == NULL || rows->draft == NULL || rows->chosen == NULL ||
        rows->chosen_weight == NULL || rows->segment == NULL || rows->best == NULL ||
        rows->candidate == NULL)
        SPEC_TRY(spec_no_memory(error));
    if (settings->by_token) SPEC_TRY(init_by_token(rows, error));
done:
    if (status != GSL_SUCCESS) spec_block_rows_free(rows);
    return status;
}

void spec_block_rows_free(spec_block_rows *rows)
{
    spec_predecessors_free(&rows->at);
    for (int i = 0; rows->by_token != NULL && i < rows->settings->reach; i++) {
        free(rows->by_token[i].token);
        free(rows->by_token[i].row);
    }
    free(rows->by_token);
    free(rows->row);
    free(rows->draft);
    free(rows->chosen);
    free(rows->chosen_weight);
    free(rows->segment);
    free(rows->best);
    free(rows->candidate);
    *rows = (spec_block_rows){0};
}

int spec_block_rows_begin(spec_block_rows *rows, const int *context, size_t n, spec_error *error)
{
    bool same;
    const int status = spec_predecessors_begin(&rows->at, &same, context, n, error);
    if (!same) rows->n_offsets = 0;
    return status;
}

/* ---- one row --------------------------------------------------------------------------------- */

static int last_token(const spec_predecessors *at, int i)
{
    return at->node[i] < 0 ? -1 : at->token[at->node[i]];
}

/* Makes one row from n target rows. */
static void join(double *row, spec_block_rows *rows, const double *const *target,
                 const double *weight, int n)
{
    const int V = rows->settings->target->vocab;
    if (rows->settings->row == SPEC_BLOCK_BEST) {
        spec_water_fill(row, target, weight, n, V, rows->segment);
        return;
    }
    memset(row, 0, (size_t)V * sizeof *row);
    for (int s = 0; s < n; s++)
        for (int x = 0; x < V; x++) row[x] += weight[s] * target[s][x];
    if (rows->settings->row == SPEC_BLOCK_GREEDY) {
        const int most = spec_row_argmax(row, V);
        for (int x = 0; x < V; x++) row[x] = x == most ? 1.0 : 0.0;
    } else if (n == 1) {
        memcpy(row, target[0], (size_t)V * sizeof *row);
    } else {
        spec_row_normalise(row, V);
    }
}

/* Makes the perturbed row for the predecessors that end with `token`, or for all if it is -1. */
static int make_row(double *row, spec_block_rows *rows, int token, spec_error *error)
{
    const spec_block_settings *set = rows->settings;
    const spec_predecessors *at = &rows->at;
    int n = 0;
    for (int i = 0; i < at->n; i++)
        if (token < 0 || last_token(at, i) == token) {
            rows->chosen[n] = at->row[i];
            rows->chosen_weight[n++] = at->weight[i];
        }
    join(rows->best, rows, rows->chosen, rows->chosen_weight, n);
    const uint64_t key = spec_noise_key(at->key, (const int[]){rows->n_offsets, token}, 2, -1);
    return spec_perturb_row(row, rows->best, set->target->vocab, set->alpha, set->noise, key,
                            rows->best + set->target->vocab, error);
}

/* Keeps only the candidates; if they have no probability in this row, uses the offset's row. */
static void restrict_row(double *row, const double *base, const int *candidate, int n, int vocab)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += row[candidate[i]];
    const double *from = sum > 0.0 ? row : base;
    double kept[SPEC_BLOCK_TOP_MAX];
    for (int i = 0; i < n; i++) kept[i] = from[candidate[i]];
    memset(row, 0, (size_t)vocab * sizeof *row);
    for (int i = 0; i < n; i++) row[candidate[i]] = kept[i];
    spec_row_normalise(row, vocab);
}

/* ---- one offset ------------------------------------------------------------------------------ */

static const double *row_of(const spec_block_rows *rows, int offset, int previous)
{
    const size_t V = (size_t)rows->settings->target->vocab;
    if (rows->by_token != NULL) {
        const spec_block_by_token *by = &rows->by_token[offset];
        int low = 0, high = by->n;
        while (low < high) {
            const int middle = low + (high - low) / 2;
            if (by->token[middle] < previous)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < by->n && by->token[low] == previous) return by->row + (size_t)low * V;
    }
    return rows->row + (size_t)offset * V;
}

static int ascending(const void *left, const void *right)
{
    const int a = *(const int *)left, b = *(const int *)right;
    return a < b ? -1 : a > b;
}

/* Lists the distinct last tokens of the predecessors. */
static void find_tokens(spec_block_by_token *by, const spec_predecessors *at)
{
    int n = 0;
    for (int i = 0; i < at->n; i++) by->token[i] = last_token(at, i);
    qsort(by->token, (size_t)at->n, sizeof *by->token, ascending);
    for (int i = 0; i < at->n; i++)
        if (n == 0 || by->token[i] != by->token[n - 1]) by->token[n++] = by->token[i];
    by->n = n;
}

static int make_rows_by_token(spec_block_rows *rows, const double *base, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_block_settings *set = rows->settings;
    spec_block_by_token *by = &rows->by_token[rows->n_offsets];
    const size_t V = (size_t)set->target->vocab;
    if (rows->n_offsets == 0 || rows->at.n == 0) {
        by->n = 0;
        return GSL_SUCCESS;
    }
    find_tokens(by, &rows->at);
    for (int a = 0; a < by->n; a++)
        SPEC_TRY(make_row(by->row + (size_t)a * V, rows, by->token[a], error));
    if (set->rank >= 0)
        SPEC_TRY(spec_low_rank(by->row, base, by->n, set->target->vocab, set->rank, error));
done:
    return status;
}

static void restrict_rows(spec_block_rows *rows, double *base)
{
    const spec_block_settings *set = rows->settings;
    const int V = set->target->vocab;
    if (set->top == 0 || set->top >= V) return;
    const int n = spec_row_largest(rows->candidate, set->top, base, V);
    for (int a = 0; rows->by_token != NULL && a < rows->by_token[rows->n_offsets].n; a++)
        restrict_row(rows->by_token[rows->n_offsets].row + (size_t)a * (size_t)V, base,
                     rows->candidate, n, V);
    restrict_row(base, base, rows->candidate, n, V);
}

static int make_offset(spec_block_rows *rows, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_block_settings *set = rows->settings;
    const size_t V = (size_t)set->target->vocab;
    const int offset = rows->n_offsets;
    double *base = rows->row + (size_t)offset * V;
    if (offset > 0) {
        for (int i = 0; i < rows->at.n; i++)
            rows->draft[i] = row_of(rows, offset - 1, last_token(&rows->at, i));
        SPEC_TRY(spec_predecessors_next(&rows->at, set->row == SPEC_BLOCK_MEAN ? NULL : rows->draft,
                                        error));
    }
    /* If no accepted draft reaches an offset, its row is never used to accept a token, so any row
     * will do. */
    if (rows->at.n == 0)
        memcpy(base, base - V, V * sizeof *base);
    else
        SPEC_TRY(make_row(base, rows, -1, error));
    if (rows->by_token != NULL) SPEC_TRY(make_rows_by_token(rows, base, error));
    restrict_rows(rows, base);
    rows->n_offsets++;
done:
    return status;
}

const double *spec_block_rows_row(spec_block_rows *rows, int offset, int previous,
                                  spec_error *error)
{
    while (rows->n_offsets <= offset)
        if (make_offset(rows, error) != GSL_SUCCESS) {
            rows->at.begun = false; /* the predecessors may be those of the failed offset */
            return NULL;
        }
    return row_of(rows, offset, previous);
}
