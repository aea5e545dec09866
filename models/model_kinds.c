/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_kinds.h"

const spec_model_kind *const spec_model_kinds[] = {
    &spec_model_probs,     &spec_model_uniform,
    &spec_model_zipf,      &spec_model_dirichlet,
    &spec_model_markov,    &spec_model_ngram,
    &spec_model_perturb,   &spec_model_cases,
    &spec_model_llama2c,   &spec_model_gguf,
    &spec_model_random,    &spec_model_rows,
    &spec_model_layers,    &spec_model_quantised,
    &spec_model_medusa,    &spec_model_hydra,
    &spec_model_redrafter, &spec_model_eagle,
    &spec_model_eagle3,    &spec_model_mtp,
    &spec_model_parallel,  &spec_model_block,
    &spec_model_markov_block, &spec_model_dflash,
    NULL,
};
