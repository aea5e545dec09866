/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output: a file that a verb writes, or standard output, with the same rules for all verbs.
 * A regular file gets its name once it is complete; symbolic links are followed. If there is an
 * older file and it differs, it is kept as FILE.bak, with a line on standard error
 * (base/new_file.h), unless --force is given. Devices and pipes are written directly. */
#ifndef SPECLAB_OUTPUT_H
#define SPECLAB_OUTPUT_H

#include "base/new_file.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    FILE *out;          /* NULL: not open */
    const char *path;   /* as given; NULL: standard output */
    spec_new_file file; /* not open for standard output, a device or a pipe */
} spec_output;

/* Returns standard output. On a terminal, this stream writes control characters and invalid bytes
 * as \xNN, so that text from a file cannot control the terminal; files and pipes get all bytes. */
FILE *spec_output_standard(void);

/* Returns the path, or "standard output". */
const char *spec_output_name(const spec_output *output);

/* Opens the file; NULL and "-" are standard output. Returns GSL_EFAILED if it cannot be written;
 * the line begins with the path. */
int spec_output_open(spec_output *output, const char *opt_path, const char *verb,
                     spec_error *error);

/* Checks before long work whether _open will fail, without opening the file. */
int spec_output_probe(const char *opt_path, spec_error *error);

/* Returns `status`, which is the status of code that wrote to the stream. If writing has failed,
 * puts the name of the file in front of the message. */
int spec_output_check(const spec_output *output, int status, spec_error *error);

/* Flushes the file and renames it to its final name. Returns GSL_EFAILED if not everything could be
 * written. */
int spec_output_close(spec_output *output, bool force, const char *verb, spec_error *error);

/* Closes and deletes the new file; an existing file of that name is not touched. Accepts a zeroed
 * or closed output. */
void spec_output_discard(spec_output *output);

/* Does the same, and also renames an older file to FILE.bak, so that no file keeps the name. */
void spec_output_retire(spec_output *output, bool force, const char *verb);

/* For files that library code writes. The first is called before writing, and names the incomplete
 * file that a killed run has left. The second is called afterwards, with the number under which the
 * older file was kept (0: none): it says where that file is, or removes it with --force. */
void spec_output_say_left_over(const char *path, const char *verb);
void spec_output_say_kept(const char *path, int kept, bool force, const char *verb);

#endif
