/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dflash_model: makes a model of a dflash draft, from its file, its weights and its target.
 * The model owns all but the target, which must outlive it. */
#ifndef SPECLAB_DFLASH_MODEL_H
#define SPECLAB_DFLASH_MODEL_H

#include "models/dflash/dflash.h"
#include "models/transformer/engine/transformer.h"

typedef struct {
    spec_model model;
    spec_dflash dflash;
    spec_weights base; /* the draft's own embedding, output and final norm, if it has them; the
                          shape describes its passes, whose vocabulary is draft_vocab */
    spec_matrix matrix[SPEC_DFLASH_PARTS][SPEC_DFLASH_LAYERS_MAX]; /* all other matrices */
    float *vector[SPEC_DFLASH_PARTS][SPEC_DFLASH_LAYERS_MAX]; /* vectors, and tables of floats */
    const spec_matrix *embedding, *output;                    /* the draft's own, or the target's */
    int widest; /* the largest number of rows or columns of any matrix except embedding and
                   output */
    const spec_transformer *target;
    char *path;
    double temperature;
    double least_logit; /* drafts end before a token whose confidence has log-odds below this */
} spec_dflash_model;

/* The functions of this kind in spec_model_kinds; those for sessions are in
 * models/dflash/dflash_session.h. They return GSL_EINVAL if the target is not a transformer on the
 * CPU, if the file is not a draft of this target, or if the key `confidence` is set for a file
 * without such a head. */
int spec_dflash_model_open(spec_model **ret_model, spec_settings *settings,
                           const spec_model *opt_target, spec_context *opt_context,
                           spec_error *error);
int spec_dflash_model_load(spec_model *model, const spec_model *opt_target, spec_error *error);
void spec_dflash_model_close(spec_model *model);

#endif
