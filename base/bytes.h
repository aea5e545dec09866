/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bytes: writes a number of bytes as text, such as "1.5 GiB" or "640 MiB".
 * It has three digits, in a unit that keeps the number below 1000. The caller owns the text. */
#ifndef SPECLAB_BYTES_H
#define SPECLAB_BYTES_H

#include <stddef.h>

enum { SPEC_BYTES_SIZE = 32 };

/* Fills and returns text (SPEC_BYTES_SIZE). */
const char *spec_bytes_text(char *text, size_t bytes);

#endif
