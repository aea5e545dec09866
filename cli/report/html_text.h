/* SPDX-License-Identifier: GPL-3.0-or-later */
/* html_text: writes Markdown texts, and bytes as base64, on an HTML page. */
#ifndef SPECLAB_HTML_TEXT_H
#define SPECLAB_HTML_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Writes a line of Markdown as HTML. The line may have `code`, **bold** and backslashes before
 * punctuation. */
void spec_html_text_marked(FILE *out, const char *text);

void spec_html_text_base64(FILE *out, const char *bytes, size_t n);

#endif
