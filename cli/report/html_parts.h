/* SPDX-License-Identifier: GPL-3.0-or-later */
/* html_parts: the constant parts of a report's page: head, style and the script of its tables. */
#ifndef SPECLAB_HTML_PARTS_H
#define SPECLAB_HTML_PARTS_H

/* Everything before the title; it forbids all requests. */
extern const char spec_html_head[];

/* Light and dark, for widths from 360 pixels on. */
extern const char spec_html_style[];

/* Adds buttons that sort tables to their heads, and a filter to tables with many rows. */
extern const char spec_html_script[];

#endif
