/* SPDX-License-Identifier: GPL-3.0-or-later */
/* large_file: announces how large an output file will be, and how long writing it takes. */
#ifndef SPECLAB_LARGE_FILE_H
#define SPECLAB_LARGE_FILE_H

#include "speclab/status.h"

/* Prints one line if the file will exceed 50 MB: its size, the seconds it takes (NaN: unknown), and
 * `opt_less`, how to make it smaller ("-n N writes fewer positions"). Returns GSL_EFAILED if the
 * disk does not have the space. */
int spec_large_file_announce(const char *verb, const char *path, double bytes, double seconds,
                             const char *opt_less, spec_error *error);

#endif
