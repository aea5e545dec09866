/* share: where speclab's own experiments, figure scripts and docs lie.
 * Looked for in $SPECLAB_SHARE, in the source tree the program was built in, and in ../share/speclab beside the
 * program's folder. */
#ifndef SPECLAB_SHARE_H
#define SPECLAB_SHARE_H

#include <stddef.h>

/* Set SPECLAB_SHARE to that folder where it is unset: models look there for a text that is nowhere else. */
void spec_share_export(void);

/* The names, without ending, of the files in a folder below it: the nearest to `name`, in `near` (size); 0, or -1 if
 * none is near. */
int spec_share_nearest(char *near, size_t size, const char *subfolder, const char *ending, const char *name);

/* The path of "experiments/NAME.cfg" and the like in `path` (size); 0 if it is there, -1 if it is nowhere. */
int spec_share_find(char *path, size_t size, const char *relative);

/* The folder that holds experiments/, plots/ and docs/, in `path`; 0 or -1. */
int spec_share_folder(char *path, size_t size);

#endif
