/* SPDX-License-Identifier: GPL-3.0-or-later */
/* markup: texts from outside inside HTML and Markdown, where they must stay plain text.
 * A control character that is no blank, a character that turns the direction of writing, and an
 * invalid byte become U+FFFD. */
#ifndef SPECLAB_MARKUP_H
#define SPECLAB_MARKUP_H

#include <stddef.h>
#include <stdio.h>

/* Writes n bytes as content of an HTML element, or of an attribute in double quotes. */
void spec_markup_html(FILE *out, const char *text, size_t n);

/* Writes a text within a line of Markdown: a title, a cell of a table, the text of a link. It
 * escapes by backslashes alone, and writes blanks for newlines and tabs. */
void spec_markup_markdown(FILE *out, const char *text);

/* Writes a text as code within a line of Markdown, in backticks; as spec_markup_markdown does if
 * the text has a backtick or a bar, which could end the code or the cell. */
void spec_markup_code(FILE *out, const char *text);

/* Writes prose within a line: its `code` and *emphasis* stay Markdown, but HTML, links and images
 * become plain text. */
void spec_markup_prose(FILE *out, const char *text);

/* Writes lines as a block of code of Markdown, indented by four blanks, with an empty line after
 * it. */
void spec_markup_block(FILE *out, const char *text);

/* Writes a path as the destination of a link of Markdown, percent-encoded. */
void spec_markup_path(FILE *out, const char *path);

#endif
