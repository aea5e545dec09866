/* SPDX-License-Identifier: GPL-3.0-or-later */
/* escape: writes foreign text so that it stays plain text in the language of an output.
 * Foreign means everything that speclab did not write itself: names of files and columns, cells,
 * titles, settings, lines of logs. Every writer uses these functions, and no other file escapes for
 * these languages (tests/escapes.awk); JSON is left to Jansson. Control characters never get
 * through, nor do noncharacters, invalid bytes, or characters that change the direction of writing.
 * Only CSV keeps them, because its data must not change. */
#ifndef SPECLAB_ESCAPE_H
#define SPECLAB_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns whether a character, or SPEC_UTF8_INVALID, may control a terminal, reorder text around
 * it, or is forbidden in XML. This includes newlines and tabs, which some functions below treat
 * differently. */
bool spec_escape_is_control(uint32_t code);

/* ---- terminal: '?' for each such character --------------------------------------------------- */

/* Writes a text of several lines; newlines and tabs pass. */
void spec_escape_terminal(FILE *out, const char *text);

/* Writes n bytes within a line; newlines and tabs become blanks. */
void spec_escape_line(FILE *out, const char *text, size_t n);

/* Changes a line in place: newlines and tabs become '?', too. The line never grows. */
void spec_escape_in_place(char *line);

/* ---- HTML, XML and SVG: U+FFFD for each such character --------------------------------------- */

/* Writes the content of an element, or of a quoted attribute. _part writes its first n bytes. */
void spec_escape_html(FILE *out, const char *text);
void spec_escape_html_part(FILE *out, const char *text, size_t n);

/* ---- Markdown: U+FFFD for each such character ------------------------------------------------ */

/* Writes a text within a line of Markdown, such as a title, a table cell or the text of a link.
 * Uses only backslash escapes, and turns newlines and tabs into blanks. GitHub turns an e-mail
 * address into a link, which no escape prevents. */
void spec_escape_markdown(FILE *out, const char *text);

/* Writes a text as code within a line of Markdown, in backticks. A text with a backtick or a bar
 * could end the code or the cell, so it is escaped as in spec_escape_markdown. */
void spec_escape_code(FILE *out, const char *text);

/* Writes prose within a line: its `code` and *emphasis* stay Markdown, but HTML, links and images
 * become plain text. */
void spec_escape_prose(FILE *out, const char *text);

/* Writes lines as an indented code block of Markdown, followed by an empty line. */
void spec_escape_block(FILE *out, const char *text);

/* Writes a path as a link target, percent-encoded so that it cannot be a scheme such as javascript:
 * . */
void spec_escape_link(FILE *out, const char *path);

/* ---- LaTeX and gnuplot: '?' for each such character ------------------------------------------ */

/* Writes a text within a paragraph, a table cell or a node of a picture. Newlines and tabs become
 * blanks, ligatures such as -- are broken, and common mathematical symbols become commands. */
void spec_escape_latex(FILE *out, const char *text);
void spec_escape_latex_part(FILE *out, const char *text, size_t n);

/* Writes a gnuplot string in single quotes, in which gnuplot expands no backquotes, macros or
 * escapes. */
void spec_escape_gnuplot(FILE *out, const char *text);

/* Does the same for a tic label. gnuplot reads it as a format, so % is doubled. */
void spec_escape_gnuplot_tic(FILE *out, const char *text);

/* ---- POSIX shell ----------------------------------------------------------------------------- */

/* Writes one word, of any length, which sh, bash and zsh read as exactly these bytes. It is safe to
 * show on a terminal: control characters appear as octal numbers. */
void spec_escape_shell(FILE *out, const char *word);

/* Writes the name of a file, as "./-f" if it would be taken for an option. "-" stays as it is. */
void spec_escape_shell_file(FILE *out, const char *path);

/* Writes the same into a buffer for a message, and returns it; returns `otherwise` if the word does
 * not fit, since half a word would be wrong. */
const char *spec_escape_shell_fit(char *buffer, size_t size, const char *path,
                                  const char *otherwise);

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Writes a quoted field (RFC 4180). */
void spec_escape_csv(FILE *out, const char *text);

#endif
