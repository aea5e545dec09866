/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_file: a draft head as a GGUF file: its values, its tensors, and the target it belongs to.
 * EAGLE-3 has llama.cpp's architecture `eagle3`; the other kinds have `speclab-head`, with the same
 * keys: docs/formats.md. A loaded head points into the mapped file. */
#ifndef SPECLAB_HEAD_FILE_H
#define SPECLAB_HEAD_FILE_H

#include "models/heads/head.h"

/* A hash of a target's shape, final norm and output matrix, as they are in its file. Its weights
 * must have been drawn (spec_checkpoint_draw). Never 0. */
uint64_t spec_head_file_fingerprint(const spec_checkpoint *target);

/* Map and check a head for this target. The head's own epsilon and rotary embedding are the file's;
 * its context is the target's. GSL_EINVAL with one line that names the file for:
 *   - another architecture or kind, a lacking or malformed value
 *   - a tensor that is missing, unknown, of another shape, or not finite
 *   - a vocabulary or a width that is not the target's; taps that it has not, or in another order
 *   - tokens of a reduced vocabulary that are out of range or occur twice
 *   - another target's fingerprint, unless `force`
 * On failure *ret is zeroed. */
int spec_head_file_load(spec_head *ret, const char *path, const spec_checkpoint *target, bool force,
                        spec_error *error);

/* The check of the fingerprint alone, for a target whose weights were not drawn when the head was
 * loaded. A file of another program may lack a fingerprint, and then passes. */
int spec_head_file_check_target(const spec_head *head, const char *path,
                                const spec_checkpoint *target, spec_error *error);

/* Write a head to `path`, replacing that file only at the end; *ret_kept as for
 * spec_gguf_model_write. GSL_EFAILED if it cannot be written; no file remains then. */
int spec_head_file_write(int *ret_kept, const spec_head *head, const char *path, spec_error *error);

#endif
