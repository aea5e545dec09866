/* SPDX-License-Identifier: GPL-3.0-or-later */
/* experiment_columns: the labels, the shown columns and the figure of an experiment file.
 * A part of experiments/experiment_load.c, like experiment_axes.c; nothing else includes it.
 * Failures name the file and the line. */
#ifndef SPECLAB_EXPERIMENT_COLUMNS_H
#define SPECLAB_EXPERIMENT_COLUMNS_H

#include "experiments/experiment_loader.h"

/* Marks the axes that `labels` names. Returns GSL_EINVAL for unknown axes and for parameters. */
int spec_experiment_columns_label(spec_experiment_loader *loader);

/* Reads `show` once the axes are complete. Returns GSL_EINVAL for unknown columns, for columns
 * named twice, and for axes that are neither labels nor parameters of the measure. Drops the figure
 * if it needs an axis that was dropped. */
int spec_experiment_columns_read(spec_experiment_loader *loader);

/* Lists the names of the grid's axes, NULL-terminated; returns their number. */
int spec_experiment_columns_axes(const char *known[SPEC_AXES_MAX + 1], const spec_grid *grid);

#endif
