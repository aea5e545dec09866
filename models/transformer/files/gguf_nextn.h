/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_nextn: reads the draft blocks ("MTP" or "NextN") after a model's layers in a GGUF file.
 * The key `nextn_predict_layers` counts them, as part of `block_count`; their tensors are those of
 * the architecture's blocks, and blk.N.nextn.*. They point into the container. */
#ifndef SPECLAB_GGUF_NEXTN_H
#define SPECLAB_GGUF_NEXTN_H

#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/gguf_types.h"

/* Finds the file's n draft blocks, which follow the layers of to->shape, and marks their tensors.
 * If the file has none of these tensors, to->n_nextn stays 0, as if the file had no such blocks.
 * Returns GSL_EINVAL, with a line, for a tensor that is missing, of another shape, or not
 * finite. */
int spec_gguf_nextn_take(spec_checkpoint *to, const spec_gguf *gguf, int n, bool *taken,
                         spec_error *error);

/* Returns tensor i of draft block k, in the order of a file, with its name; data NULL: the block
 * has none. *ret_part is the part of a layer, or the model's part that is most like it. */
enum { SPEC_NEXTN_TENSORS = SPEC_PARTS - SPEC_PART_ATTENTION_NORM + 6 };
const spec_tensor *spec_gguf_nextn_tensor(char name[SPEC_PART_NAME_SIZE], spec_part *ret_part,
                                          const spec_checkpoint *of, int k, int i);

#endif
