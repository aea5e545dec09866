/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/rows_summary.h"

#include "analysis/rules/overlap.h"
#include "base/escape.h"
#include "base/parallel.h"
#include "models/row.h"
#include "models/rows/rows_file.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Number of ranges of positions. Each is summed separately, so sums do not depend on the
 * threads. */
enum { STRETCHES = 64 };

/* Sums over positions: for one side, and for a draft with the target. */
typedef struct {
    double entropy, log_loss;
    uint64_t agree;
} sums;

typedef struct {
    const spec_rows_file *file;
    sums (*sum)[SPEC_ROWS_SIDES_MAX]; /* (STRETCHES) */
    double *beta[SPEC_ROWS_SIDES_MAX]; /* (places) overlaps of a draft */
} summary;

static int read_stretch(summary *all, int stretch, double *target, double *draft, spec_error *error)
{
    const spec_rows_file *file = all->file;
    const uint64_t n = file->places, begin = n * (uint64_t)stretch / STRETCHES,
                   end = n * ((uint64_t)stretch + 1) / STRETCHES;
    int status = GSL_SUCCESS;
    for (uint64_t p = begin; p < end; p++) {
        const int next = spec_rows_file_token(file, spec_rows_file_position(file, p));
        int best = 0;
        for (int s = 0; s < file->sides; s++) {
            sums *sum = &all->sum[stretch][s];
            double *row = s == 0 ? target : draft;
            SPEC_TRY(spec_rows_file_row(row, file, p, s, error));
            sum->entropy += spec_overlap_entropy(row, (size_t)file->vocab);
            sum->log_loss -= log(row[next]);
            if (s == 0) best = spec_row_argmax(row, file->vocab);
            else sum->agree += spec_row_argmax(row, file->vocab) == best;
            if (s > 0) all->beta[s][p] = spec_row_overlap(target, draft, file->vocab);
        }
    }
done:
    return status;
}

typedef struct {
    int status;
    spec_error error;
} outcome;

typedef struct {
    summary *all;
    double *row;      /* (workers, 2, V) */
    outcome *outcome; /* (STRETCHES) */
} job;

static void read_one(void *self, uint64_t stretch, int worker)
{
    const job *j = self;
    const size_t vocab = (size_t)j->all->file->vocab;
    double *row = j->row + 2 * vocab * (size_t)worker;
    outcome *o = &j->outcome[stretch];
    o->status = read_stretch(j->all, (int)stretch, row, row + vocab, &o->error);
}

/* Reads all ranges. If several fail, reports the failure at the first position, for any number of
 * threads. */
static int read_all(summary *all, spec_thread_pool *opt_pool, spec_error *error)
{
    const int workers = spec_thread_pool_size(opt_pool);
    job j = {.all = all, .outcome = calloc(STRETCHES, sizeof *j.outcome)};
    int status = GSL_SUCCESS;
    j.row = malloc((size_t)workers * 2 * (size_t)all->file->vocab * sizeof *j.row);
    if (j.outcome == NULL || j.row == NULL) SPEC_TRY(spec_no_memory(error));
    spec_parallel_run(opt_pool, read_one, &j, STRETCHES, workers);
    for (int i = 0; i < STRETCHES; i++)
        if (j.outcome[i].status != GSL_SUCCESS)
            SPEC_TRY(spec_fail(error, j.outcome[i].status, "%s", j.outcome[i].error.text));
done:
    free(j.outcome);
    free(j.row);
    return status;
}

static void fill(spec_table *table, const summary *all, int side)
{
    const spec_rows_file *file = all->file;
    const double n = (double)file->places;
    sums total[2] = {{.entropy = 0.0}};
    for (int i = 0; i < STRETCHES; i++)
        for (int k = 0; k < 2; k++) {
            const sums *sum = &all->sum[i][k == 0 ? 0 : side];
            total[k].entropy += sum->entropy;
            total[k].log_loss += sum->log_loss;
            total[k].agree += sum->agree;
        }
    spec_table_integer(table, "V", file->vocab);
    spec_table_integer(table, "positions", (long long)file->places);
    spec_table_integer(table, "texts", (long long)file->texts);
    spec_table_integer(table, "tokens", (long long)file->tokens);
    spec_table_integer(table, "bytes", (long long)file->map.length);
    spec_table_number(table, "bytes_per_row", (double)file->map.length / n / file->sides);
    spec_table_number(table, "target_tv", file->side[0].tv_mean);
    spec_table_number(table, "target_tv_max", file->side[0].tv_max);
    spec_table_number(table, "target_entropy", total[0].entropy / n);
    spec_table_number(table, "target_log_loss", total[0].log_loss / n);
    if (side == 0) return;
    double *beta = all->beta[side];
    spec_table_number(table, "draft_tv", file->side[side].tv_mean);
    spec_table_number(table, "draft_tv_max", file->side[side].tv_max);
    spec_table_number(table, "draft_entropy", total[1].entropy / n);
    spec_table_number(table, "draft_log_loss", total[1].log_loss / n);
    spec_table_number(table, "argmax_agreement", (double)total[1].agree / n);
    spec_table_number(table, "beta_mean", gsl_stats_mean(beta, 1, file->places));
    if (file->places > 1)
        spec_table_number(table, "beta_correlation",
                          gsl_stats_lag1_autocorrelation(beta, 1, file->places));
    gsl_sort(beta, 1, file->places);
    spec_table_number(table, "beta_q10",
                      gsl_stats_quantile_from_sorted_data(beta, 1, file->places, 0.1));
    spec_table_number(table, "beta_median",
                      gsl_stats_quantile_from_sorted_data(beta, 1, file->places, 0.5));
    spec_table_number(table, "beta_q90",
                      gsl_stats_quantile_from_sorted_data(beta, 1, file->places, 0.9));
}

static void fill_spec(spec_table *table, const char *column, const spec_rows_side *side)
{
    char spec[512];
    snprintf(spec, sizeof spec, "%.*s", (int)(side->spec_length < 500 ? side->spec_length : 500),
             side->spec);
    spec_escape_in_place(spec);
    spec_table_text(table, column, spec);
}

int spec_rows_summary(spec_table *ret_table, const char *path, spec_thread_pool *opt_pool,
                      spec_error *error)
{
    static const char *const columns[] = {"target",
                                          "draft",
                                          "V",
                                          "positions",
                                          "texts",
                                          "tokens",
                                          "bytes",
                                          "bytes_per_row",
                                          "target_tv",
                                          "target_tv_max",
                                          "draft_tv",
                                          "draft_tv_max",
                                          "target_entropy",
                                          "draft_entropy",
                                          "target_log_loss",
                                          "draft_log_loss",
                                          "argmax_agreement",
                                          "beta_mean",
                                          "beta_q10",
                                          "beta_median",
                                          "beta_q90",
                                          "beta_correlation"};
    int status = GSL_SUCCESS;
    spec_rows_file file = {0};
    summary all = {.file = &file};
    *ret_table = (spec_table){0};
    SPEC_TRY(spec_rows_file_open(&file, path, error));
    all.sum = calloc(STRETCHES, sizeof *all.sum);
    bool room = all.sum != NULL;
    for (int s = 1; s < file.sides; s++) {
        all.beta[s] = malloc(file.places * sizeof *all.beta[s]);
        room = room && all.beta[s] != NULL;
    }
    if (!room ||
        spec_table_init(ret_table, columns, sizeof columns / sizeof columns[0]) != GSL_SUCCESS)
        SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(read_all(&all, opt_pool, error));
    for (int s = file.sides > 1 ? 1 : 0; s < file.sides; s++) {
        fill_spec(ret_table, "target", &file.side[0]);
        if (s > 0) fill_spec(ret_table, "draft", &file.side[s]);
        fill(ret_table, &all, s);
        if (spec_table_append(ret_table) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
    }
done:
    for (int s = 1; s < SPEC_ROWS_SIDES_MAX; s++) free(all.beta[s]);
    free(all.sum);
    spec_rows_file_close(&file);
    if (status != GSL_SUCCESS) spec_table_free(ret_table);
    return status;
}
