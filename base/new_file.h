/* SPDX-License-Identifier: GPL-3.0-or-later */
/* new_file: writes an output file under a temporary name, and renames it when it is complete.
 * Follows symbolic links. Keeps the mode and owner of an older file of that name. Keeps the older
 * file itself as NAME.bak, unless the new file begins with all its bytes. It owns the stream and
 * the names. */
#ifndef SPECLAB_NEW_FILE_H
#define SPECLAB_NEW_FILE_H

#include "speclab/status.h"

#include <sys/types.h>

typedef struct {
    FILE *out;     /* NULL: not open */
    char *path;    /* as given; messages begin with it */
    char *target;  /* the final name: the path with its links followed */
    char *partial; /* the current name: TARGET.XXXXXX.partial, locked (flock) while open; NULL after
                      it was published */
    dev_t device;  /* the older file at _open; inode 0: none */
    ino_t inode;
    int kept; /* the number of the kept older file (see _former); 0: none was kept */
} spec_new_file;

/* Opens the stream. Returns GSL_EINVAL if the name is "-" or exists but is not a regular file,
 * GSL_EFAILED if no file can be created or the older file is not writable. The message begins with
 * the path. */
int spec_new_file_open(spec_new_file *file, const char *path, spec_error *error);

/* Flushes the file to disk and renames it to its final name; it stays open. Returns GSL_EFAILED if
 * this fails, or if another program has created a file there since _open: the new file then stays
 * at `partial`, which the message names. */
int spec_new_file_publish(spec_new_file *file, spec_error *error);

/* Call this when a file that grew after it was published is complete: if it begins with all bytes
 * of the kept older file, removes the older one. */
void spec_new_file_settle(spec_new_file *file);

/* Renames the older file to its former name (_former), although no new file replaces it. */
int spec_new_file_retire(spec_new_file *file, spec_error *error);

/* Publishes the file unless it is already published, and closes it. Call _free afterwards. */
int spec_new_file_close(spec_new_file *file, spec_error *error);

/* Releases everything, and removes a file that was not published. Accepts a zeroed object. */
void spec_new_file_free(spec_new_file *file);

/* Removes the incomplete files that this process is writing, before it exits without _free. A
 * signal handler may call this. */
void spec_new_file_abandon_all(void);

/* Returns the name of a kept older file: PATH.bak for 1, PATH.bak2 and so on, next to the file that
 * PATH leads to. The caller frees it; NULL if out of memory. */
char *spec_new_file_former(const char *path, int number);

/* Returns the name of an incomplete file that a killed program left for this path, or NULL. The
 * caller frees it. */
char *spec_new_file_left_over(const char *path);

#endif
