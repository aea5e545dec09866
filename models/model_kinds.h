/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_kinds: every kind of model; the table itself is spec_model_kinds in models/model.h.
 * To add a model: write models/NAME.c with its spec_model_NAME, declare it here, add it to
 * models/model_kinds.c, test it. */
#ifndef SPECLAB_MODEL_KINDS_H
#define SPECLAB_MODEL_KINDS_H

#include "models/model.h"

extern const spec_model_kind spec_model_probs;
extern const spec_model_kind spec_model_uniform;
extern const spec_model_kind spec_model_zipf;
extern const spec_model_kind spec_model_dirichlet;
extern const spec_model_kind spec_model_markov;
extern const spec_model_kind spec_model_ngram;
extern const spec_model_kind spec_model_perturb;
extern const spec_model_kind spec_model_cases;
extern const spec_model_kind spec_model_llama2c;
extern const spec_model_kind spec_model_gguf;
extern const spec_model_kind spec_model_random;
extern const spec_model_kind spec_model_rows;
extern const spec_model_kind spec_model_layers;
extern const spec_model_kind spec_model_quantised;
extern const spec_model_kind spec_model_medusa, spec_model_hydra, spec_model_redrafter,
    spec_model_eagle, spec_model_eagle3, spec_model_mtp, spec_model_parallel;
extern const spec_model_kind spec_model_block, spec_model_markov_block;
extern const spec_model_kind spec_model_dflash;

#endif
