/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_layout: the kind of a published draft head, and the names of its tensors.
 * It knows EAGLE-1 and EAGLE-3 with the names of their authors, of SpecForge and of speculators,
 * and Medusa. A part has one name in each of these; the folder decides which. Owns nothing. */
#ifndef SPECLAB_HEAD_LAYOUT_H
#define SPECLAB_HEAD_LAYOUT_H

#include "models/heads/head.h"
#include "models/import/tensor_folder.h"

/* Returns a folder's spec_head_kind (medusa, eagle, eagle3), or -1 if it is no known draft head. */
int spec_head_layout_kind(const spec_tensor_folder *folder);

/* Return the number of heads of a Medusa folder, numbered without a gap from 0; and how often its
 * first head applies a residual block, at most SPEC_HEAD_LAYOUT_BLOCKS, even if stored once. */
enum { SPEC_HEAD_LAYOUT_BLOCKS = 16 };
int spec_head_layout_depths(const spec_tensor_folder *folder);
int spec_head_layout_blocks(const spec_tensor_folder *folder);

/* Writes and returns a part's name in this folder: the first known alias that exists in the folder,
 * or else the first known alias. */
enum { SPEC_HEAD_LAYOUT_NAME = 96 };
const char *spec_head_layout_name(char name[SPEC_HEAD_LAYOUT_NAME], spec_head_part part, int copy,
                                  const spec_tensor_folder *folder);

#endif
