/* SPDX-License-Identifier: GPL-3.0-or-later */
/* page: multi-line text, such as a report, wrapped to the width of a terminal.
 * If a line is too wide, it continues under the text that follows its last gap of two or more
 * blanks (" tested 4 of 4"). If the first part of the line has no such gap, it continues under the
 * line's own beginning. A command to type, indented by four blanks, is broken with a backslash, as
 * shells expect. */
#ifndef SPECLAB_PAGE_H
#define SPECLAB_PAGE_H

#include <stdio.h>

/* Returns the environment's COLUMNS; 0 if it is not a positive integer. */
int spec_page_given_columns(void);

/* Returns the width of the terminal behind a descriptor: COLUMNS, else the terminal's own; 0 if it
 * is not a terminal. */
int spec_page_columns(int descriptor);

/* Writes the text; `columns` <= 0: unwrapped. It allocates nothing: it cuts the text into lines
 * while it writes, and then restores it. */
void spec_page_write(char *text, int columns, FILE *out);

#endif
