/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dflash_model: a draft of dflash as a model: its file, its weights, and the target that it reads.
 * The model owns them, but for the target, which must outlive it. */
#ifndef SPECLAB_DFLASH_MODEL_H
#define SPECLAB_DFLASH_MODEL_H

#include "models/dflash/dflash.h"
#include "models/transformer/engine/transformer.h"

typedef struct {
    spec_model model;
    spec_dflash dflash;
    spec_weights base; /* its embedding, output and final norm, as far as they are its own; the
                          shape is that of its passes, whose vocabulary is draft_vocab */
    spec_matrix matrix[SPEC_DFLASH_PARTS][SPEC_DFLASH_LAYERS_MAX]; /* all other matrices */
    float *vector[SPEC_DFLASH_PARTS][SPEC_DFLASH_LAYERS_MAX]; /* vectors, and tables of floats */
    const spec_matrix *embedding, *output;                    /* own, or the target's */
    int widest; /* rows or columns of a matrix other than embedding and output, at most */
    const spec_transformer *target;
    char *path;
    double temperature;
    double least_logit; /* drafts end before a token whose confidence's log-odds are below this */
} spec_dflash_model;

/* The functions of the kind's table line; those of sessions are in models/dflash/dflash_session.h.
 * GSL_EINVAL for a target that is no transformer or not on the CPU, and for a file that is not a
 * draft of this target. Also for the key `confidence` of a file without such a head. */
int spec_dflash_model_open(spec_model **ret_model, spec_settings *settings,
                           const spec_model *opt_target, spec_context *opt_context,
                           spec_error *error);
int spec_dflash_model_load(spec_model *model, const spec_model *opt_target, spec_error *error);
void spec_dflash_model_close(spec_model *model);

#endif
