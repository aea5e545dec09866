/* SPDX-License-Identifier: GPL-3.0-or-later */
/* text_width: measures how wide UTF-8 text is on a terminal, and breaks it into lines.
 * Widths are as wcwidth gives them in the locale C.UTF-8: wide characters take two columns,
 * combining characters none. A character that base/escape.h shows as '?' takes one. */
#ifndef SPECLAB_TEXT_WIDTH_H
#define SPECLAB_TEXT_WIDTH_H

#include <stddef.h>
#include <stdio.h>

int spec_text_width(const char *text);

/* Returns the bytes of the first line of `text` that fits in `columns` > 0, at least one character.
 * A line ends at the end of the text, at a blank, or after one of , ; : / | & ? _ - if the last
 * blank would leave it less than half full; otherwise after as many characters as fit. A final
 * blank counts among the bytes, but not in *ret_width. */
size_t spec_text_line(const char *text, int columns, int *ret_width);

/* Writes the text in lines of at most `columns`, with `indent` blanks before all lines but the
 * first, and no newline at the end. `columns` <= 0: one line. */
void spec_text_wrap(const char *text, int columns, int indent, FILE *out);

#endif
