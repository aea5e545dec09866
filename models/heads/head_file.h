/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_file: reads and writes a draft head as a GGUF file, and checks which target it belongs to.
 * EAGLE-3 has llama.cpp's architecture `eagle3`; the other kinds have `speclab-head`, with the same
 * keys: docs/formats.md. A loaded head points into the mapped file. */
#ifndef SPECLAB_HEAD_FILE_H
#define SPECLAB_HEAD_FILE_H

#include "models/heads/head.h"

/* Returns a hash of a target's shape, final norm and output matrix, as they are in its file; never
 * 0. The target's weights must have been drawn (spec_checkpoint_draw). */
uint64_t spec_head_file_fingerprint(const spec_checkpoint *target);

/* Maps a head and checks that it fits this target. Epsilon and rotary embedding come from the file,
 * the context length from the target. Returns GSL_EINVAL, with one line that names the file, for:
 *   - another architecture or kind, a missing or malformed value
 *   - a tensor that is missing, unknown, of another shape, or not finite
 *   - a vocabulary or a width that is not the target's; taps that it lacks, or in another order
 *   - tokens of a reduced vocabulary that are out of range or repeated
 *   - another target's fingerprint, unless `force`
 * On failure *ret is zeroed. */
int spec_head_file_load(spec_head *ret, const char *path, const spec_checkpoint *target, bool force,
                        spec_error *error);

/* Checks only the fingerprint. Call it if the target's weights were not drawn yet when the head was
 * loaded. A file from another program may lack a fingerprint, and then passes. */
int spec_head_file_check_target(const spec_head *head, const char *path,
                                const spec_checkpoint *target, spec_error *error);

/* Writes a head to `path` and replaces an older file only at the end; *ret_kept as in
 * spec_gguf_model_write. Returns GSL_EFAILED if it cannot be written, and leaves no file. */
int spec_head_file_write(int *ret_kept, const spec_head *head, const char *path, spec_error *error);

#endif
