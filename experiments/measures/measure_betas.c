/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "experiments/measures/trajectory.h"
#include "models/row.h"
#include "models/rows/rows.h"

#include <stdlib.h>

enum { BINS_MAX = 1000 };

/* Marks which of n equal parts of [0,1] contains the overlap; the last one includes 1. */
static int visit(double *value, const spec_position *at, const void *self, spec_error *error)
{
    const int n = *(const int *)self;
    const double beta = spec_row_overlap(at->target, at->opt_draft, at->vocab);
    (void)error;
    for (int i = 0; i < n; i++) value[i] = 0.0;
    value[beta < 1.0 ? (int)(beta * n) : n - 1] = 1.0;
    value[n] = beta;
    return GSL_SUCCESS;
}

static int count_bins(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                      spec_error *error)
{
    int bins;
    const int status = spec_point_int(&bins, point, measure, "bins", 1, BINS_MAX, error);
    *ret_rows = (uint64_t)bins;
    return status;
}

static int write_bins(spec_table *table, const double *mean, const double *se, int bins,
                      spec_error *error)
{
    double below = 0.0;
    for (int i = 0; i < bins; i++) {
        below += mean[i];
        spec_table_number(table, "beta", (i + 1.0) / bins);
        spec_table_number(table, "share", mean[i]);
        spec_table_number(table, "share_se", se[i]);
        spec_table_number(table, "below", below);
        spec_table_number(table, "alpha_mean", mean[bins]);
        if (i + 1 < bins && spec_table_append(table) != GSL_SUCCESS) return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    int bins, positions, *text = NULL, status = GSL_SUCCESS;
    double mean[BINS_MAX + 1], se[BINS_MAX + 1];
    spec_trajectory trajectory = {.visit = visit,
                                  .self = &bins,
                                  .seed = point->seed,
                                  .opt_pool = spec_context_pool(point->opt_context),
                                  .opt_stop = point->stop,
                                  .opt_listener = point->opt_listener};
    SPEC_TRY(spec_point_int(&bins, point, measure, "bins", 1, BINS_MAX, error));
    SPEC_TRY(spec_point_int(&positions, point, measure, "positions", 1, 1000000000, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_pair(&trajectory.target, &trajectory.opt_draft, point,
                             spec_point_text(point, measure, "target"),
                             spec_point_text(point, measure, "draft"), error));
    if (trajectory.opt_draft == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "draft: give a model"));
    SPEC_TRY(spec_point_opened(point));
    trajectory.positions = (uint64_t)positions;
    trajectory.n_values = bins + 1;
    const spec_rows_file *file = spec_rows_of(trajectory.target, NULL);
    if (file != NULL) {
        trajectory.opt_text = text = spec_rows_text(file);
        if (text == NULL) SPEC_TRY(spec_no_memory(error));
        trajectory.positions = file->places;
    }
    SPEC_TRY(spec_trajectory_means(mean, se, &trajectory, error));
    SPEC_TRY(write_bins(table, mean, se, bins, error));
done:
    free(text);
    return status;
}

static const char *const parameters[] = {"target", "draft", "positions=20000", "bins=20", NULL};
static const char *const columns[] = {"beta", "share", "share_se", "below", "alpha_mean", NULL};
static const spec_headline headlines[] = {{.column = "share"}, {0}};
static const char *const keys[] = {"beta", NULL};

const spec_measure spec_measure_betas = {
    .name = "betas",
    .summary = "the distribution of the overlap over positions, in bins: how the acceptance "
               "probability varies",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .keys = keys,
    .rows = count_bins,
    .run = run,
};
