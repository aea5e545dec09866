/* SPDX-License-Identifier: GPL-3.0-or-later */
/* import_head: reads a draft head from a Hugging Face folder into a spec_head for its target.
 * Kinds and names are in head_layout.h. Matrices stay in the mapped files and keep their type;
 * vectors become F32. d2t holds offsets in safetensors, tokens in a spec_head. */
#ifndef SPECLAB_IMPORT_HEAD_H
#define SPECLAB_IMPORT_HEAD_H

#include "models/heads/head.h"
#include "models/import/head_taps.h"

/* Reads the head of a folder for a target, whose weights must have been drawn; opt_tap as in
 * spec_head_taps_read.
 *
 * Returns GSL_EINVAL, with one line, if the folder does not hold such a head; if a tensor is
 * missing, unknown, or of another shape or type; if EAGLE-1's embedding or lm_head differs from the
 * target's; if d2t is out of range, not one to one, or contradicts t2d; if the target lacks a tap;
 * and for features that are not supported (several residual blocks in Medusa, YaRN and windows in a
 * layer). On failure *ret is zeroed. */
int spec_import_head_open(spec_head *ret, spec_head_taps *ret_taps, const char *path,
                          const spec_checkpoint *target, const int *opt_tap, spec_error *error);

#endif
