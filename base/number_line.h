/* SPDX-License-Identifier: GPL-3.0-or-later */
/* number_line: writes and reads numbers on a line of text without rounding.
 * Real numbers are in hexadecimal. */
#ifndef SPECLAB_NUMBER_LINE_H
#define SPECLAB_NUMBER_LINE_H

#include "base/memory_text.h"

#include <stdint.h>

/* Write a number and a blank. A real number may be infinite or NaN. */
void spec_number_line_put_count(FILE *out, uint64_t count);
void spec_number_line_put_real(FILE *out, double real);

/* Returns the text without its last blank; the caller frees it. NULL if out of memory. */
char *spec_number_line_take(spec_memory_text *text);

/* Reads a line from another process, number by number. After a failure all numbers are 0. */
typedef struct {
    const char *at;
    bool failed; /* a number was missing, too large, or not of the kind that was asked for */
} spec_number_line;

uint64_t spec_number_line_count(spec_number_line *line);
double spec_number_line_real(spec_number_line *line);

/* Returns whether the whole line was read without a failure. */
bool spec_number_line_ended(const spec_number_line *line);

#endif
