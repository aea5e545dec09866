/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dflash_file: loads a draft of llama.cpp's architecture `dflash`, if it fits its target.
 * The keys are the ones llama.cpp and its converters use: docs/formats.md#dflash. The loaded draft
 * points into the mapped file. */
#ifndef SPECLAB_DFLASH_FILE_H
#define SPECLAB_DFLASH_FILE_H

#include "models/dflash/dflash.h"

/* Maps a file and checks it for this target, whose context length it takes. Returns GSL_EINVAL,
 * with one line that names the file, for:
 *   - another architecture, a backbone with hyper connections or experts, an unsupported rope
 *   - a value that is missing, malformed or out of range
 *   - a tensor that is missing, unknown, of another shape, or not finite
 *   - a vocabulary or a width that is not the target's; taps that the target lacks
 *   - tokens of a reduced vocabulary that are out of range or repeated
 * No allocation is larger than the file's size justifies. On failure *ret is zeroed. */
int spec_dflash_file_load(spec_dflash *ret, const char *path, const spec_checkpoint *target,
                          spec_error *error);

#endif
