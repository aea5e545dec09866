/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unpacked: reads the bytes of an open file, and decompresses it if it is gzip or zstd.
 * The first bytes of the file show which it is. A compressed file may have several parts. zstd
 * requires libzstd when speclab is built; WebAssembly has neither. Memory does not grow with the
 * file. */
#ifndef SPECLAB_UNPACKED_H
#define SPECLAB_UNPACKED_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    int fd;
    const char *name; /* file name, for messages */
    const volatile int *opt_stop;
    unsigned char *in; /* bytes of the file, of which at..n are not yet unpacked */
    size_t at, n;
    const struct spec_unpacking *method; /* NULL: the file's bytes are the text */
    void *stream;
    bool started, ended, within; /* within: inside a part of a compressed file */
} spec_unpacked;

/* Prepares to read from fd, which the caller closes. */
spec_unpacked spec_unpacked_of(int fd, const char *name, const volatile int *opt_stop);
void spec_unpacked_free(spec_unpacked *unpacked);

/* Reads up to n bytes; *ret = 0 at the end. Returns GSL_EINVAL "file: ..." for damaged or truncated
 * data, and for zstd without libzstd; GSL_EFAILED if the file cannot be read or *opt_stop is set;
 * GSL_ENOMEM. */
int spec_unpacked_read(size_t *ret, spec_unpacked *unpacked, char *to, size_t n, spec_error *error);

#endif
