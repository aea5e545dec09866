/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_layout: finds out the kind of a published draft head and how its tensors are named.
 * It knows Medusa, and EAGLE-1 and EAGLE-3 with the tensor names that their authors, SpecForge or
 * speculators use. The tensors in the folder show which names apply. Owns nothing. */
#ifndef SPECLAB_HEAD_LAYOUT_H
#define SPECLAB_HEAD_LAYOUT_H

#include "models/heads/head.h"
#include "models/import/tensor_folder.h"

/* Returns a folder's spec_head_kind (medusa, eagle, eagle3), or -1 if it is not a known draft
 * head. */
int spec_head_layout_kind(const spec_tensor_folder *folder);

/* Return how many heads a Medusa folder has, counted from 0 up to the first gap, and how many times
 * its first head applies a residual block, which may be stored only once (at most
 * SPEC_HEAD_LAYOUT_BLOCKS). */
enum { SPEC_HEAD_LAYOUT_BLOCKS = 16 };
int spec_head_layout_depths(const spec_tensor_folder *folder);
int spec_head_layout_blocks(const spec_tensor_folder *folder);

/* Writes and returns a part's name in this folder: the first known alias that exists in the folder,
 * or else the first known alias. */
enum { SPEC_HEAD_LAYOUT_NAME = 96 };
const char *spec_head_layout_name(char name[SPEC_HEAD_LAYOUT_NAME], spec_head_part part, int copy,
                                  const spec_tensor_folder *folder);

#endif
