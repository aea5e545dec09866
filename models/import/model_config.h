/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_config: the shape of a Llama-like model from the JSON of Hugging Face's config.json.
 * Models of type llama, mistral and qwen2 are read; queries and keys rotate halves of a head.
 * Features that the engine lacks are refused by name. The config owns its rope factors. */
#ifndef SPECLAB_MODEL_CONFIG_H
#define SPECLAB_MODEL_CONFIG_H

#include "models/import/json_values.h"
#include "models/transformer/files/checkpoint.h"

typedef struct {
    spec_shape shape;   /* rope.opt_factor points to rope_factor */
    float *rope_factor; /* (head_dim/2), or NULL */
    bool is_qwen2;      /* biases of query, key and value */
    bool is_tied;       /* the output matrix is the embedding */
    int window;         /* the attention window that the context was cut to, or 0 */
    int begin_of_text;  /* or -1 */
    int end_of_text;    /* or -1; the first of a list */
} spec_model_config;

/* Read a config. GSL_EINVAL with one line for another model_type, another activation, quantised
 * weights, a rope_scaling that is not linear or llama3, and an invalid shape. A sliding window that
 * is in effect cuts the context to its length, within which attention is the same. */
int spec_model_config_read(spec_model_config *ret, const spec_json_values *config);
void spec_model_config_free(spec_model_config *config); /* may be zeroed */

#endif
