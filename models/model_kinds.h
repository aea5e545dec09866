/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_kinds: every kind of model; the table itself is spec_model_kinds in models/model.h. */
#ifndef SPECLAB_MODEL_KINDS_H
#define SPECLAB_MODEL_KINDS_H

#include "models/model.h"

/* The table has this order. MODEL(name) is spec_model_<name>. */
#define SPEC_MODELS(MODEL)                                                                         \
    MODEL(probs)                                                                                   \
    MODEL(uniform)                                                                                 \
    MODEL(zipf)                                                                                    \
    MODEL(dirichlet)                                                                               \
    MODEL(markov)                                                                                  \
    MODEL(ngram)                                                                                   \
    MODEL(perturb)                                                                                 \
    MODEL(cases)                                                                                   \
    MODEL(llama2c)                                                                                 \
    MODEL(gguf)                                                                                    \
    MODEL(random)                                                                                  \
    MODEL(rows)                                                                                    \
    MODEL(layers)                                                                                  \
    MODEL(quantised)                                                                               \
    MODEL(medusa)                                                                                  \
    MODEL(hydra)                                                                                   \
    MODEL(redrafter)                                                                               \
    MODEL(eagle)                                                                                   \
    MODEL(eagle3)                                                                                  \
    MODEL(mtp)                                                                                     \
    MODEL(parallel)                                                                                \
    MODEL(block)                                                                                   \
    MODEL(markov_block)                                                                            \
    MODEL(dflash)
#define DECLARE(name) extern const spec_model_kind spec_model_##name;
SPEC_MODELS(DECLARE)
#undef DECLARE

#endif
