/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dflash_file: a draft file of llama.cpp's architecture `dflash`, checked against its target.
 * Keys are those of llama.cpp and its converters: docs/formats.md#dflash. The loaded draft points
 * into the mapped file. */
#ifndef SPECLAB_DFLASH_FILE_H
#define SPECLAB_DFLASH_FILE_H

#include "models/dflash/dflash.h"

/* Map and check a file for this target; its context is the target's. GSL_EINVAL with one line that
 * names the file for:
 *   - another architecture, a backbone with hyper connections or experts, an unsupported rope
 *   - a lacking or malformed value, or one that is out of range
 *   - a tensor that is missing, unknown, of another shape, or not finite
 *   - a vocabulary or a width that is not the target's; taps that the target has not
 *   - tokens of a reduced vocabulary that are out of range or occur twice
 * No allocation exceeds what the file's size accounts for. On failure *ret is zeroed. */
int spec_dflash_file_load(spec_dflash *ret, const char *path, const spec_checkpoint *target,
                          spec_error *error);

#endif
