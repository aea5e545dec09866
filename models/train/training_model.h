/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_model: a transformer of the Llama family in training.
 * Its weights are parameters, and its forward pass consists of a graph's operations. The queries,
 * keys and values of a layer form one parameter, and so do gate and up. `checkpoint` shows the
 * parameters as separate tensors, for files and engines. The model owns everything. */
#ifndef SPECLAB_TRAINING_MODEL_H
#define SPECLAB_TRAINING_MODEL_H

#include "models/train/graph.h"
#include "models/transformer/files/checkpoint.h"

/* Parameters of a layer, by index in the set; qkv_bias is -1 if there is none. */
typedef struct {
    int attention_norm, qkv, qkv_bias, attention_output, ffn_norm, gate_up, down;
} spec_training_layer;

typedef struct {
    spec_parameters parameters;
    int embedding, final_norm, output; /* output == embedding: tied */
    spec_training_layer *layer;        /* (n_layers) */
    spec_checkpoint checkpoint;        /* without a tokenizer; tensors are F32 */
    float *rope_factor;
    spec_real *cosine, *sine; /* (places, head_dim / 2) */
    int places;               /* most positions of a text */
} spec_training_model;

/* The shape of a new model; tied: its output matrix is the embedding. */
typedef struct {
    spec_shape shape;
    bool is_tied, has_bias;
} spec_training_shape;

/* Copies the weights of a checkpoint, which may have any type. They are frozen if the model only
 * serves as a target. Returns GSL_EDOM if `places` exceeds its context. */
int spec_training_model_load(spec_training_model *model, const spec_checkpoint *from, int places,
                             bool is_frozen, spec_error *error);

/* Draws the weights of a new model: standard deviation 0.02, or 0.02 / sqrt(2 n_layers) for the
 * matrices that add to the residual stream; norms are 1, biases 0. The weights are the same on
 * every machine. */
int spec_training_model_draw(spec_training_model *model, const spec_training_shape *shape,
                             int places, uint64_t seed, spec_error *error);

void spec_training_model_free(spec_training_model *model); /* may be zeroed */

/* The nodes of a forward pass. */
typedef struct {
    spec_graph_node *hidden[SPEC_LAYERS_MAX + 1]; /* [l]: after l layers; (texts * places, dim) */
    spec_graph_node *logits;                      /* (texts * places, vocab) */
} spec_training_nodes;

/* Adds the forward pass over `texts` texts of `places` tokens each to a graph. Each pass reads
 * token (texts, places) and opt_keep (n_layers, texts): the layers that each text uses; NULL:
 * all. */
void spec_training_model_build(spec_training_nodes *ret_nodes, const spec_training_model *model,
                               spec_graph *graph, const int *token, const bool *opt_keep, int texts,
                               int places);

/* Returns the logits of an exit: applies the final norm and the output to hidden[l], the states
 * after some layers. */
spec_graph_node *spec_training_model_exit(const spec_training_model *model, spec_graph *graph,
                                          spec_graph_node *hidden);

#endif
