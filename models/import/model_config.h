/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_config: reads the shape of a transformer from Hugging Face's config.json.
 * A table in model_config.c lists the supported families; queries and keys rotate halves of a head.
 * Features that the engine lacks are refused by name. The config owns its rope factors. */
#ifndef SPECLAB_MODEL_CONFIG_H
#define SPECLAB_MODEL_CONFIG_H

#include "models/import/json_values.h"
#include "models/import/model_rope.h"
#include "models/transformer/files/architecture.h"

typedef struct {
    spec_shape shape; /* rope.opt_factor points to rope_factor */
    const spec_architecture *architecture;
    float *rope_factor;               /* one for each pair that rotates, or NULL */
    bool has_window[SPEC_LAYERS_MAX]; /* per layer, if shape.window > 0 */
    bool is_recurrent[SPEC_LAYERS_MAX];
    bool has_biases;                  /* query, key and value have biases */
    bool is_tied;                     /* the output matrix is the embedding */
    bool begins;                      /* texts begin with begin_of_text, if no tokenizer decides */
    bool gains_minus_one;             /* norms are stored minus 1 */
    /* the attention window to which the context was cut; 0: it was not cut */
    int cut_window;
    int begin_of_text;                /* or -1 */
    spec_text_ends ends;              /* eos_token_id: one, a list, or none */
} spec_model_config;

/* Reads a config. A gemma3 or qwen3_5 with text_config is read as its text model. Returns
 * GSL_EINVAL, with one line, for another model_type or activation, for soft caps, for quantised
 * weights (except MXFP4 in gpt-oss), for an invalid shape, for experts only in some layers or
 * without normalised weights, and in the cases listed in model_rope.h. In an architecture without
 * windows, a sliding window cuts the context to its length, within which attention is the same. */
int spec_model_config_read(spec_model_config *ret, const spec_json_values *config);
/* Adds the tokens of a config's eos_token_id, which may be a list. Returns GSL_EINVAL if one is not
 * in the vocabulary. */
int spec_model_config_ends(spec_text_ends *ends, const spec_json_values *config, int vocab);
void spec_model_config_free(spec_model_config *config); /* may be zeroed */

#endif
