/* new_file: a file that is written beside its name, and takes the name when it is whole, so that nobody ever sees a
 * part. It owns the stream and the two names. */
#ifndef SPECLAB_NEW_FILE_H
#define SPECLAB_NEW_FILE_H

#include "speclab/status.h"

typedef struct {
    FILE *out;            /* NULL: it is not open */
    char *path, *partial; /* where it will be; where it is, PATH.PID.partial */
} spec_new_file;

/* GSL_EINVAL where something else than a regular file has the name, GSL_EFAILED where none can be made; one line that
 * begins with the path. A file that has the name stays as it is until _close. */
int spec_new_file_open(spec_new_file *file, const char *path, spec_error *error);

/* Put it to the disk, and give it its name. GSL_EFAILED where not all of it could be written. _free comes after it. */
int spec_new_file_close(spec_new_file *file, spec_error *error);

/* A file that has not got its name is removed. A zeroed one is fine. */
void spec_new_file_free(spec_new_file *file);

#endif
