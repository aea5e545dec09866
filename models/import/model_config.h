/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_config: the shape of a transformer from the JSON of Hugging Face's config.json.
 * The families that are read are in a table of model_config.c; queries and keys rotate halves of a
 * head. Features that the engine lacks are refused by name. The config owns its rope factors. */
#ifndef SPECLAB_MODEL_CONFIG_H
#define SPECLAB_MODEL_CONFIG_H

#include "models/import/json_values.h"
#include "models/import/model_rope.h"
#include "models/transformer/files/architecture.h"

typedef struct {
    spec_shape shape; /* rope.opt_factor points to rope_factor */
    const spec_architecture *architecture;
    float *rope_factor;               /* (head_dim/2), or NULL */
    bool has_window[SPEC_LAYERS_MAX]; /* of each layer, if shape.window > 0 */
    bool has_biases;                  /* of query, key and value */
    bool is_tied;                     /* the output matrix is the embedding */
    bool begins;                      /* texts begin with begin_of_text, if no tokenizer says */
    bool gains_minus_one;             /* norms are stored less 1 */
    int cut_window;                   /* the attention window that the context was cut to, or 0 */
    int begin_of_text;                /* or -1 */
    spec_text_ends ends;              /* eos_token_id: one, a list, or none */
} spec_model_config;

/* Read a config. A gemma3 with text_config is read as its text model. GSL_EINVAL with one line for
 * another model_type, another activation and soft caps, for quantised weights (but MXFP4 of
 * gpt-oss), and for an invalid shape. Also for experts in some layers only, or without normalised
 * weights, and as model_rope.h says. A sliding window of an architecture without
 * windows cuts the context to its length, within which attention is the same. */
int spec_model_config_read(spec_model_config *ret, const spec_json_values *config);
/* Add the tokens of a config's eos_token_id, which may be a list. GSL_EINVAL if one is none of the
 * vocabulary. */
int spec_model_config_ends(spec_text_ends *ends, const spec_json_values *config, int vocab);
void spec_model_config_free(spec_model_config *config); /* may be zeroed */

#endif
