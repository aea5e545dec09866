/* SPDX-License-Identifier: GPL-3.0-or-later */
/* experiment_loader: the state of reading one experiment file, with overrides applied.
 * experiments/experiment_load.c owns it; experiment_axes.c and experiment_columns.c fill parts. */
#ifndef SPECLAB_EXPERIMENT_LOADER_H
#define SPECLAB_EXPERIMENT_LOADER_H

#include "experiments/config.h"
#include "experiments/experiment.h"
#include "experiments/given_models.h"

typedef struct {
    spec_experiment *experiment; /* its measure is known */
    spec_config config;
    bool models_given;      /* an override replaces models of the file */
    spec_referred replaced; /* axes in the specs of the models that were replaced */
    spec_referred dropped;  /* the replaced axes without references */
} spec_experiment_loader;

#endif
