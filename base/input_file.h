/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input_file: reads a whole input file into memory, up to a limit of bytes.
 * A larger regular file is refused before any byte is read; a pipe is read up to the limit. Devices
 * other than terminals are refused, and /dev/null is an empty file. The caller frees the bytes. */
#ifndef SPECLAB_INPUT_FILE_H
#define SPECLAB_INPUT_FILE_H

#include "speclab/status.h"

#include <stddef.h>

/* How messages call the contents, such as "an experiment file", and the largest size. */
typedef struct {
    const char *what;
    size_t bytes;
} spec_input_limit;

/* Opens a file for reading. Returns GSL_EFAILED for folders and files that cannot be opened,
 * GSL_EINVAL for devices; the message begins with the path. */
int spec_input_file_open(int *ret_fd, const char *path, spec_error *error);
/* Opens a file as a stream, which the caller closes. Also returns GSL_ENOMEM. */
int spec_input_file_stream(FILE **ret_file, const char *path, spec_error *error);

/* Reads a whole file, and adds a zero byte after its n bytes. Also returns GSL_EINVAL if the file
 * exceeds the limit. */
int spec_input_file_read(char **ret_bytes, size_t *ret_n, const char *path,
                         const spec_input_limit *limit, spec_error *error);

/* Does the same for an open descriptor, which stays open; `name` appears in messages. */
int spec_input_file_read_fd(char **ret_bytes, size_t *ret_n, int fd, const char *name,
                            const spec_input_limit *limit, spec_error *error);

/* Reads a text file. Also returns GSL_EINVAL if it contains a zero byte. */
int spec_input_file_read_text(char **ret_text, size_t *ret_n, const char *path,
                              const spec_input_limit *limit, spec_error *error);

#endif
