/* SPDX-License-Identifier: GPL-3.0-or-later */
/* experiment_loader: the state of reading one experiment file, with overrides applied.
 * experiments/experiment_load.c owns it; experiment_axes.c and experiment_columns.c fill in
 * parts. */
#ifndef SPECLAB_EXPERIMENT_LOADER_H
#define SPECLAB_EXPERIMENT_LOADER_H

#include "experiments/config.h"
#include "experiments/experiment.h"
#include "experiments/given_models.h"

typedef struct {
    spec_experiment *experiment; /* its measure is known */
    spec_config config;
    bool models_given;      /* an override replaces models of the file */
    spec_referred replaced; /* axes that the replaced models referred to */
    spec_referred dropped;  /* the axes among these that nothing refers to any more */
} spec_experiment_loader;

#endif
