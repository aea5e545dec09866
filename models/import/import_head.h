/* SPDX-License-Identifier: GPL-3.0-or-later */
/* import_head: a draft head of a Hugging Face folder, as a spec_head for its target.
 * Kinds and names: head_layout.h. Matrices stay in the mapped files and keep their type, vectors
 * become F32. Safetensors' d2t holds offsets, a spec_head tokens. */
#ifndef SPECLAB_IMPORT_HEAD_H
#define SPECLAB_IMPORT_HEAD_H

#include "models/heads/head.h"
#include "models/import/head_taps.h"

/* Read the head of a folder for a target, whose weights must have been drawn; opt_tap as for
 * spec_head_taps_read.
 *
 * GSL_EINVAL with one line if the folder is no such head; if a tensor is missing, has another shape
 * or type, or is not one of such a head; if EAGLE-1's embedding or lm_head differs from the
 * target's; for d2t out of range, not one to one, or not as t2d says; for taps that the target has
 * not; for what is not computed (several residual blocks of Medusa, YaRN and windows in a layer).
 * On failure *ret is zeroed. */
int spec_import_head_open(spec_head *ret, spec_head_taps *ret_taps, const char *path,
                          const spec_checkpoint *target, const int *opt_tap, spec_error *error);

#endif
