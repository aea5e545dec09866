/* SPDX-License-Identifier: GPL-3.0-or-later */
/* experiment_axes: the grid and the points of an experiment file, with overrides applied.
 * A part of experiments/experiment_load.c, which alone includes it, with experiment_columns.c.
 * Failures name the file and the line. */
#ifndef SPECLAB_EXPERIMENT_AXES_H
#define SPECLAB_EXPERIMENT_AXES_H

#include "experiments/config.h"
#include "experiments/experiment.h"
#include "experiments/given_models.h"

typedef struct {
    spec_experiment *experiment; /* its measure is known */
    spec_config config;
    bool models_given;      /* an override replaces models of the file */
    spec_referred replaced; /* axes that replaced models referred to */
    spec_referred dropped;  /* the replaced axes without references */
} spec_experiment_loader;

/* Fill the experiment's grid, labels and columns, and its note on what is dropped. */
int spec_experiment_read_axes(spec_experiment_loader *loader);

#endif
