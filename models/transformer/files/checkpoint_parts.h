/* SPDX-License-Identifier: GPL-3.0-or-later */
/* checkpoint_parts: the tensors of a checkpoint, with their names in GGUF and their shapes.
 * Loaders, writers and checks iterate over this table instead of naming every tensor again. */
#ifndef SPECLAB_PARTS_H
#define SPECLAB_PARTS_H

#include "models/transformer/files/checkpoint.h"

/* Lines of the table; tensors of a layer come last. */
typedef enum {
    SPEC_PART_EMBEDDING,
    SPEC_PART_FINAL_NORM,
    SPEC_PART_OUTPUT,
    SPEC_PART_ATTENTION_NORM,
    SPEC_PART_QUERY,
    SPEC_PART_KEY,
    SPEC_PART_VALUE,
    SPEC_PART_QUERY_BIAS,
    SPEC_PART_KEY_BIAS,
    SPEC_PART_VALUE_BIAS,
    SPEC_PART_ATTENTION_OUTPUT,
    SPEC_PART_FFN_NORM,
    SPEC_PART_GATE,
    SPEC_PART_UP,
    SPEC_PART_DOWN,
    SPEC_PART_QUERY_NORM,
    SPEC_PART_KEY_NORM,
    SPEC_PART_SINKS,
    SPEC_PART_ATTENTION_OUTPUT_BIAS,
    SPEC_PART_ATTENTION_POST_NORM,
    SPEC_PART_FFN_POST_NORM,
    SPEC_PART_ROUTER,
    SPEC_PART_ROUTER_BIAS,
    SPEC_PART_EXPERT_GATE,
    SPEC_PART_EXPERT_UP,
    SPEC_PART_EXPERT_DOWN,
    SPEC_PART_EXPERT_GATE_BIAS,
    SPEC_PART_EXPERT_UP_BIAS,
    SPEC_PART_EXPERT_DOWN_BIAS,
    SPEC_PART_DELTA_INPUT,
    SPEC_PART_DELTA_GATE,
    SPEC_PART_DELTA_BETA,
    SPEC_PART_DELTA_ALPHA,
    SPEC_PART_DELTA_BOTH,
    SPEC_PART_DELTA_CONV,
    SPEC_PART_DELTA_BIAS,
    SPEC_PART_DELTA_RATE,
    SPEC_PART_DELTA_NORM,
    SPEC_PART_DELTA_OUTPUT,
    SPEC_PART_SHARED_GATE,
    SPEC_PARTS
} spec_part;

/* Returns how many tensors a part has: n_layers if it belongs to a layer, 0 if it belongs to a kind
 * of feed-forward network that the shape does not have, else 1. A tensor may still be absent. */
int spec_checkpoint_parts_copies(spec_part part, const spec_shape *shape);

/* Returns whether a layer of this kind may have the part: attention and recurrent layers have parts
 * of their own, and share the others. */
bool spec_checkpoint_parts_in_layer(spec_part part, bool is_recurrent);

/* Returns whether the part is F32 in a checkpoint: a vector, the weights of a convolution, or the
 * biases of all experts. */
bool spec_checkpoint_parts_is_vector(spec_part part);

/* Returns whether the rows of a part are those of one expert after the other. Files have a separate
 * dimension for the experts. */
bool spec_checkpoint_parts_stacked(spec_part part);

/* Returns whether a part is never quantised. This is true of the router, because the choice of
 * experts depends on it. */
bool spec_checkpoint_parts_stays_float(spec_part part);

void spec_checkpoint_parts_shape(int *ret_rows, int *ret_cols, spec_part part,
                                 const spec_shape *shape);

/* Returns the tensor in a checkpoint; `layer` is 0 for parts outside layers. */
spec_tensor *spec_checkpoint_parts_tensor(spec_part part, spec_checkpoint *checkpoint, int layer);
const spec_tensor *spec_checkpoint_parts_tensor_const(spec_part part,
                                                      const spec_checkpoint *checkpoint, int layer);

/* Writes into `name`, and returns, the name that an architecture gives the part, such as
 * "blk.7.attn_q.weight"; NULL: llama's name. */
enum { SPEC_PART_NAME_SIZE = 48 };
const char *spec_checkpoint_parts_name(char name[SPEC_PART_NAME_SIZE], spec_part part, int layer,
                                       const spec_architecture *opt_architecture);

/* Checks that a layer has all biases of query, key and value or none of them, because the three are
 * stacked in one product; `block` is the layer's number for the line. Returns GSL_EINVAL if not. */
int spec_checkpoint_parts_check_layer(const spec_checkpoint_layer *layer, int block,
                                      const char *path, spec_error *error);

/* Checks that all weights are finite (quantised ones: their scales); the line names the tensor.
 * Reads the whole file once, with all threads. */
int spec_checkpoint_parts_check(const spec_checkpoint *checkpoint, const char *path,
                                spec_error *error);

#endif
