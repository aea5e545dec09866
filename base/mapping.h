/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mapping: a regular file, mapped into memory read-only.
 * Pages load on first access and are shared between processes. Truncating the file while it is
 * mapped kills the process (SIGBUS). The mapping owns its bytes. */
#ifndef SPECLAB_MAPPING_H
#define SPECLAB_MAPPING_H

#include "speclab/status.h"

#include <stddef.h>

typedef struct {
    const unsigned char *bytes; /* NULL: not mapped */
    size_t length;              /* >= 1 */
} spec_mapping;

/* Maps a file without waiting. Returns GSL_EFAILED if it cannot be opened, GSL_EINVAL if it is
 * empty or not a regular file (a folder, pipe or device); the message begins with the path. */
int spec_mapping_init(spec_mapping *mapping, const char *path, spec_error *error);
void spec_mapping_free(spec_mapping *mapping); /* accepts a zeroed mapping */

/* Releases the pages that were read, so that they no longer count as memory of the process. The
 * bytes stay readable. Accepts NULL and a zeroed mapping. */
void spec_mapping_release(const spec_mapping *opt_mapping);

#endif
