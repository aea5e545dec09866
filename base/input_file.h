/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input_file: an input file, read into memory whole, up to a limit of bytes.
 * A larger regular file is refused before any byte is read; a pipe is read up to the limit. Devices
 * other than terminals are refused, and /dev/null is an empty file. The caller frees the bytes. */
#ifndef SPECLAB_INPUT_FILE_H
#define SPECLAB_INPUT_FILE_H

#include "speclab/status.h"

#include <stddef.h>

/* The name of the contents in messages, such as "an experiment file", and the largest size. */
typedef struct {
    const char *what;
    size_t bytes;
} spec_input_limit;

/* Open a file for reading. GSL_EFAILED for folders and files that cannot be opened, GSL_EINVAL for
 * devices; one line that begins with the path. */
int spec_input_file_open(int *ret_fd, const char *path, spec_error *error);
/* The same as a stream, which the caller closes; also GSL_ENOMEM. */
int spec_input_file_stream(FILE **ret_file, const char *path, spec_error *error);

/* Read a whole file; one zero byte follows the n bytes. Also GSL_EINVAL if the file exceeds the
 * limit. */
int spec_input_file_read(char **ret_bytes, size_t *ret_n, const char *path,
                         const spec_input_limit *limit, spec_error *error);

/* The same from an open descriptor, which stays open; `name` appears in messages. */
int spec_input_file_read_fd(char **ret_bytes, size_t *ret_n, int fd, const char *name,
                            const spec_input_limit *limit, spec_error *error);

/* Read a text file: GSL_EINVAL at the first zero byte. */
int spec_input_file_read_text(char **ret_text, size_t *ret_n, const char *path,
                              const spec_input_limit *limit, spec_error *error);

#endif
