/* bytes: how much memory, in words: "1.5 GiB", "640 MiB".
 * Three digits, in the unit in which they are below 1000. The text is the caller's. */
#ifndef SPECLAB_BYTES_H
#define SPECLAB_BYTES_H

#include <stddef.h>

enum { SPEC_BYTES_SIZE = 32 };

/* Fills and returns text (SPEC_BYTES_SIZE). */
const char *spec_bytes_text(char *text, size_t bytes);

#endif
