/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_model: makes a model of a draft head, from its file, its weights and its target.
 * The model owns all but the target, which must outlive it. */
#ifndef SPECLAB_HEAD_MODEL_H
#define SPECLAB_HEAD_MODEL_H

#include "models/heads/head_weights.h"
#include "models/transformer/engine/transformer.h"

typedef struct {
    spec_model model;
    spec_head head;
    spec_head_weights weights;
    const spec_transformer *target;
    char *path;
    double temperature;
    bool force; /* a head of another target is not refused */
} spec_head_model;

/* The functions of the kinds in spec_model_kinds; those for sessions are in
 * models/heads/head_session.h. The spec's name gives the kind of head. They return GSL_EINVAL if
 * the target is not a transformer on the CPU, or the file is not a head of this kind for this
 * target. */
int spec_head_model_open(spec_model **ret_model, spec_settings *settings,
                         const spec_model *opt_target, spec_context *opt_context,
                         spec_error *error);
int spec_head_model_load(spec_model *model, const spec_model *opt_target, spec_error *error);
void spec_head_model_close(spec_model *model);

#endif
