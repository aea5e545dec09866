/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share: the folder of speclab's own experiments, figure scripts and documents.
 * Searched in $SPECLAB_SHARE, in the source tree of the build, and in ../share/speclab beside the
 * program's folder. */
#ifndef SPECLAB_SHARE_H
#define SPECLAB_SHARE_H

#include <stddef.h>

/* That folder or else NULL, written to `path` (size): models look there for a text that is not in
 * the current folder. $SPECLAB_SHARE is taken as it is. */
const char *spec_share_of_texts(char *path, size_t size);

/* The file name, without its ending, nearest to `name` in a subfolder, written to `near` (size).
 * Returns 0, or -1 if none is near. */
int spec_share_nearest(char *near, size_t size, const char *subfolder, const char *ending,
                       const char *name);

/* The path of a file such as "experiments/cfg/NAME.cfg", written to `path` (size). Returns 0 if the
 * file exists, else -1. */
int spec_share_find(char *path, size_t size, const char *relative);

/* The folder with experiments/, plots/ and docs/, written to `path`. Returns 0, or -1 if there is
 * none. */
int spec_share_folder(char *path, size_t size);

#endif
