/* SPDX-License-Identifier: GPL-3.0-or-later */
/* large_file: announces the size and time of a large output file before writing it. */
#ifndef SPECLAB_LARGE_FILE_H
#define SPECLAB_LARGE_FILE_H

#include "speclab/status.h"

/* Prints one line if the file will exceed 50 MB: its size, its time (seconds; NaN: unknown), and
 * `opt_less`, how to make it smaller ("-n N writes fewer places"). Returns GSL_EFAILED if the disk
 * has too little space. */
int spec_large_file_announce(const char *verb, const char *path, double bytes, double seconds,
                             const char *opt_less, spec_error *error);

#endif
