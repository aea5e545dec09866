/* SPDX-License-Identifier: GPL-3.0-or-later */
/* experiment_axes: the grid and the points of an experiment file, with overrides applied.
 * A part of experiments/experiment_load.c, like experiment_columns.c; nothing else includes it.
 * Failures name the file and the line. */
#ifndef SPECLAB_EXPERIMENT_AXES_H
#define SPECLAB_EXPERIMENT_AXES_H

#include "experiments/experiment_loader.h"

/* Fills the experiment's grid, labels and columns, and notes what was dropped. */
int spec_experiment_read_axes(spec_experiment_loader *loader);

#endif
