/* SPDX-License-Identifier: GPL-3.0-or-later */
/* html_text: texts from outside inside an HTML page, escaped, and bytes as base64. */
#ifndef SPECLAB_HTML_TEXT_H
#define SPECLAB_HTML_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Write a text as content or as the value of an attribute in double quotes. Control characters but
 * newlines and tabs, and invalid bytes, become U+FFFD. */
void spec_html_text_write(FILE *out, const char *text);

/* The same with `code` and **bold** of Markdown as elements. */
void spec_html_text_marked(FILE *out, const char *text);

void spec_html_text_base64(FILE *out, const char *bytes, size_t n);

#endif
