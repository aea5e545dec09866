/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_layout: the kind of a published draft head, and the names of its tensors.
 * Known are EAGLE-1 and EAGLE-3 as their authors, SpecForge and speculators name them, and Medusa.
 * A part has one name in each of these; the folder tells which. Owns nothing. */
#ifndef SPECLAB_HEAD_LAYOUT_H
#define SPECLAB_HEAD_LAYOUT_H

#include "models/heads/head.h"
#include "models/import/tensor_folder.h"

/* The spec_head_kind of a folder (medusa, eagle, eagle3), or -1: no draft head that is known. */
int spec_head_layout_kind(const spec_tensor_folder *folder);

/* Heads of a Medusa folder, the most in a row from 0; the times that its first head applies a
 * residual block, at most SPEC_HEAD_LAYOUT_BLOCKS, even if the block is stored once. */
enum { SPEC_HEAD_LAYOUT_BLOCKS = 16 };
int spec_head_layout_depths(const spec_tensor_folder *folder);
int spec_head_layout_blocks(const spec_tensor_folder *folder);

/* The name of a part in this folder, which it returns: the first of the known ones that the folder
 * has, or else the first that is known. */
enum { SPEC_HEAD_LAYOUT_NAME = 96 };
const char *spec_head_layout_name(char name[SPEC_HEAD_LAYOUT_NAME], spec_head_part part, int copy,
                                  const spec_tensor_folder *folder);

#endif
