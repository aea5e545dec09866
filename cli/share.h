/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share: the folder of speclab's own experiments, figure scripts and documents.
 * It is searched for in $SPECLAB_SHARE, in the source tree of the build, and in ../share/speclab
 * relative to the program's folder. */
#ifndef SPECLAB_SHARE_H
#define SPECLAB_SHARE_H

#include <stddef.h>

/* Returns that folder, written to `path` (size), or NULL. If a text is not in the current folder,
 * models look for it there. $SPECLAB_SHARE is used as it is. */
const char *spec_share_of_texts(char *path, size_t size);

/* Finds the file name, without its ending, that is nearest to `name` in a subfolder; writes it to
 * `near` (size). Returns 0, or -1 if none is near. */
int spec_share_nearest(char *near, size_t size, const char *subfolder, const char *ending,
                       const char *name);

/* Writes the path of a file such as "experiments/cfg/NAME.cfg" to `path` (size). Returns 0 if the
 * file exists, else -1. */
int spec_share_find(char *path, size_t size, const char *relative);

/* Writes the folder with experiments/, plots/ and docs/ to `path`. Returns 0, or -1 if there is
 * none. */
int spec_share_folder(char *path, size_t size);

#endif
