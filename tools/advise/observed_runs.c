/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/observed_runs.h"

#include "analysis/acceptance/serial_widening.h"
#include "speclab/no_memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool belongs(const spec_observed_series *series, int K, int batch)
{
    return series->K == K && series->n > 0 && (batch < 0 || series->batch == batch);
}

static int by_time(const void *a, const void *b)
{
    const double *x = a, *y = b;
    const double first = x[SPEC_SUM_ORDER] / x[SPEC_SUM_OBSERVATIONS];
    const double second = y[SPEC_SUM_ORDER] / y[SPEC_SUM_OBSERVATIONS];
    return (first > second) - (first < second);
}

int spec_observed_run_gather(spec_observed_run *run, const spec_observed_sums *sums, int K,
                             int batch)
{
    const size_t row = SPEC_SUM_COLUMNS * sizeof *run->column;
    size_t most = 0;
    *run = (spec_observed_run){.K = K, .batch = batch, .requests = true};
    for (size_t i = 0; i < sums->n; i++)
        if (belongs(&sums->series[i], K, batch)) most += sums->series[i].n;
    run->column = malloc(most * row);
    if (run->column == NULL) return GSL_ENOMEM;
    for (size_t i = 0; i < sums->n; i++) {
        const spec_observed_series *series = &sums->series[i];
        if (!belongs(series, K, batch)) continue;
        memcpy(run->column + run->n * SPEC_SUM_COLUMNS, series->column, series->n * row);
        run->n += series->n;
        if (series->kind == SPEC_OBSERVED_WINDOW) run->requests = false;
        if (series->depths > run->depths) run->depths = series->depths;
    }
    qsort(run->column, run->n, row, by_time);
    return GSL_SUCCESS;
}

/* Gathers the clusters of K and batch, and joins windows into stretches. */
static int gather_stretches(spec_observed_run *run, const spec_observed_sums *sums, int K,
                            int batch)
{
    const int status = spec_observed_run_gather(run, sums, K, batch);
    if (status != GSL_SUCCESS || run->requests) return status;
    run->n = spec_cluster_ratio_join(run->column, run->n, SPEC_SUM_COLUMNS, SPEC_SUM_PASSES,
                                     SPEC_OBSERVED_STRETCHES);
    /* Many windows have become few stretches, and every range of batches has its own run, so save
     * memory. */
    double *column = realloc(run->column, run->n * SPEC_SUM_COLUMNS * sizeof *run->column);
    if (column != NULL) run->column = column;
    return GSL_SUCCESS;
}

int spec_observed_runs_init(spec_observed_runs *runs, const spec_observed_sums *sums,
                            spec_error *error)
{
    bool present[SPEC_OBSERVED_DEPTHS + 1][SPEC_SUM_BATCHES] = {{false}};
    size_t most = 0;
    *runs = (spec_observed_runs){0};
    for (size_t i = 0; i < sums->n; i++) {
        const spec_observed_series *series = &sums->series[i];
        if (series->K < 0 || series->K > SPEC_OBSERVED_DEPTHS || series->n == 0) continue;
        present[series->K][series->batch] = true;
        most += 2;
    }
    if (most == 0) return GSL_SUCCESS;
    runs->run = calloc(most, sizeof *runs->run);
    int status = runs->run != NULL ? GSL_SUCCESS : GSL_ENOMEM;
    for (int K = 0; K <= SPEC_OBSERVED_DEPTHS && status == GSL_SUCCESS; K++) {
        int batches = 0;
        for (int b = 0; b < SPEC_SUM_BATCHES; b++) batches += present[K][b];
        for (int b = -1; b < SPEC_SUM_BATCHES && batches > 0 && status == GSL_SUCCESS; b++)
            if (b < 0 || present[K][b])
                status = gather_stretches(&runs->run[runs->n++], sums, K, b);
    }
    if (status != GSL_SUCCESS) {
        spec_observed_runs_free(runs);
        return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

void spec_observed_runs_free(spec_observed_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) free(runs->run[i].column);
    free(runs->run);
    *runs = (spec_observed_runs){0};
}

const spec_observed_run *spec_observed_runs_find(const spec_observed_runs *runs, int K, int batch)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->run[i].K == K && runs->run[i].batch == batch) return &runs->run[i];
    return NULL;
}

double spec_observed_run_sum(const spec_observed_run *run, int column)
{
    double sum = 0.0;
    for (size_t i = 0; i < run->n; i++) sum += run->column[i * SPEC_SUM_COLUMNS + (size_t)column];
    return sum;
}

/* Returns the excess at depth j, given the rounds and those that accept at least j - 1, j and j + 1
 * tokens. */
static double excess_of(const double rounds[4])
{
    const double b = rounds[2] / rounds[0];
    return rounds[1] / rounds[0] * (rounds[3] / rounds[0]) - b * b;
}

double spec_observed_run_excess(double *ret_variance, const spec_observed_run *run, int j)
{
    const int column[] = {SPEC_SUM_DEPTH_ROUNDS,
                          j > 1 ? SPEC_SUM_PASSED + j - 2 : SPEC_SUM_DEPTH_ROUNDS,
                          SPEC_SUM_PASSED + j - 1, SPEC_SUM_PASSED + j};
    double all[4], squares = 0.0, n = 0.0;
    for (int i = 0; i < 4; i++) all[i] = spec_observed_run_sum(run, column[i]);
    const double excess = excess_of(all), rounding = 8.0 * DBL_EPSILON * all[3] / all[0];
    for (size_t g = 0; g < run->n; g++) {
        const double *cluster = run->column + g * SPEC_SUM_COLUMNS;
        double others[4];
        for (int i = 0; i < 4; i++) others[i] = all[i] - cluster[column[i]];
        if (!(cluster[SPEC_SUM_DEPTH_ROUNDS] > 0.0) || !(others[0] > 0.0)) continue;
        const double change = excess_of(others) - excess;
        if (fabs(change) > rounding) squares += change * change;
        n++;
    }
    *ret_variance = squares * (n - 1.0) / n; /* n is 0 or at least 2 */
    return excess;
}

/* ---- numbers of a cluster -------------------------------------------------------------------- */

double spec_cluster_column(const double *cluster, int arg)
{
    return cluster[arg];
}

double spec_cluster_accepted(const double *cluster, int arg)
{
    double sum = 0.0;
    for (int j = 0; j < arg; j++) sum += cluster[SPEC_SUM_PASSED + j];
    return sum;
}

double spec_cluster_tested(const double *cluster, int arg)
{
    return cluster[SPEC_SUM_DEPTH_ROUNDS] + spec_cluster_accepted(cluster, arg - 1);
}

double spec_cluster_most(const double *cluster, int arg)
{
    return arg * cluster[SPEC_SUM_PASSES];
}

double spec_cluster_per_pass(const double *cluster, int arg)
{
    (void)arg;
    return cluster[SPEC_SUM_PASSES] + cluster[SPEC_SUM_ACCEPTED];
}

/* Moves an end of an interval to `times` its distance from the value, on the scale of log-odds
 * (proportion) or logarithms. */
static double moved(double value, double end, double times, bool proportion)
{
    const double scale = proportion ? log(value / (1.0 - value)) : log(value),
                 other = proportion ? log(end / (1.0 - end)) : log(end),
                 x = scale + times * (other - scale);
    if (!isfinite(scale) || !isfinite(other)) return end;
    return proportion ? 1.0 / (1.0 + exp(-x)) : exp(x);
}

spec_cluster_ratio spec_observed_ratio_of(const double *passed, const double *tested, double *work,
                                          size_t n, bool proportion, bool requests, double error,
                                          double *opt_widening)
{
    spec_cluster_ratio ratio = spec_cluster_ratio_of(passed, tested, n, proportion, error);
    double widening = 1.0;
    if (!requests && ratio.se > 0.0) {
        size_t used = 0;
        for (size_t i = 0; i < n; i++)
            if (tested[i] > 0.0) work[used++] = passed[i] - ratio.value * tested[i];
        widening = spec_serial_widening(work, used, error);
        ratio.low = moved(ratio.value, ratio.low, widening, proportion);
        ratio.high = moved(ratio.value, ratio.high, widening, proportion);
        ratio.se *= widening;
        ratio.design_effect *= widening * widening;
    }
    if (opt_widening != NULL) *opt_widening = widening;
    return ratio;
}

int spec_observed_run_ratio(spec_cluster_ratio *ret, const spec_observed_run *run,
                            const spec_cluster_question *question, double error)
{
    double *passed = malloc(3 * (run->n > 0 ? run->n : 1) * sizeof *passed);
    if (passed == NULL) return GSL_ENOMEM;
    double *tested = passed + run->n;
    for (size_t i = 0; i < run->n; i++) {
        const double *cluster = run->column + i * SPEC_SUM_COLUMNS;
        passed[i] = question->passed(cluster, question->passed_arg);
        tested[i] = question->tested(cluster, question->tested_arg);
    }
    *ret = spec_observed_ratio_of(passed, tested, tested + run->n, run->n, question->proportion,
                                  run->requests, error, NULL);
    free(passed);
    return GSL_SUCCESS;
}
