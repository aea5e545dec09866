/* SPDX-License-Identifier: GPL-3.0-or-later */
/* markup: escapes foreign text for HTML and Markdown, so that it stays plain text there.
 * Control characters other than white space, characters that change the direction of writing, and
 * invalid bytes become U+FFFD. */
#ifndef SPECLAB_MARKUP_H
#define SPECLAB_MARKUP_H

#include <stddef.h>
#include <stdio.h>

/* Writes n bytes as content of an HTML element, or of an attribute in double quotes. */
void spec_markup_html(FILE *out, const char *text, size_t n);

/* Writes a text within a line of Markdown, such as a title, a table cell or the text of a link. It
 * only uses backslash escapes, and turns newlines and tabs into blanks. */
void spec_markup_markdown(FILE *out, const char *text);

/* Writes a text as code within a line of Markdown, in backticks. A text with a backtick or a bar
 * could end the code or the cell: it is escaped as by spec_markup_markdown. */
void spec_markup_code(FILE *out, const char *text);

/* Writes prose within a line: its `code` and *emphasis* stay Markdown, but HTML, links and images
 * become plain text. */
void spec_markup_prose(FILE *out, const char *text);

/* Writes lines as an indented code block of Markdown, and an empty line after it. */
void spec_markup_block(FILE *out, const char *text);

/* Writes a path as the target of a Markdown link, percent-encoded. */
void spec_markup_path(FILE *out, const char *path);

#endif
