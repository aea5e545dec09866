/* SPDX-License-Identifier: GPL-3.0-or-later */
/* given_models: replaces the models of an experiment file by the user's `target` and `draft`.
 * A given target or draft replaces every target or draft of the file. Settings that the experiment
 * varies are kept. If an axis was only needed for the replaced models, such as the order of an
 * n-gram, it is dropped. */
#ifndef SPECLAB_GIVEN_MODELS_H
#define SPECLAB_GIVEN_MODELS_H

#include "experiments/grid.h"

/* Returns whether this parameter is a model that can be given: `target` or `draft`. */
bool spec_given_models_takes(const char *parameter);

/* Replaces `original` by the given model. If the given model has no draft strategy ("greedy:"), it
 * gets that of the original; it also gets sampling settings that vary with an axis
 * ("temperature={T}"). Returns GSL_EINVAL if the given model has such a setting itself. The caller
 * frees *ret_model. */
int spec_given_models_place(char **ret_model, const char *given, const char *original,
                            spec_error *error);

/* Axes that replaced models referred to. */
typedef struct {
    char name[SPEC_AXES_MAX][64];
    int n;
} spec_referred;

/* Adds the names in braces in a replaced model; names beyond SPEC_AXES_MAX are ignored. */
void spec_given_models_note(spec_referred *referred, const char *original);
bool spec_given_models_noted(const spec_referred *referred, const char *name);

#endif
