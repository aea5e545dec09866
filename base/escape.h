/* SPDX-License-Identifier: GPL-3.0-or-later */
/* escape: writes foreign text so that it stays plain text in the language of an output.
 * Foreign is everything that speclab did not write itself: names of files and columns, cells,
 * titles, settings, lines of logs. Every writer uses these functions, and no other file has escapes
 * of these languages (tests/escapes.awk); JSON is Jansson's. Control characters never pass, nor do
 * characters that change the direction of writing, noncharacters and invalid bytes. CSV alone keeps
 * them, because it must remain the same data. */
#ifndef SPECLAB_ESCAPE_H
#define SPECLAB_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether a character, or SPEC_UTF8_INVALID, may control a terminal, reorder text around it, or be
 * forbidden in XML. So are newlines and tabs, which the functions below treat by themselves. */
bool spec_escape_is_control(uint32_t code);

/* ---- terminal: '?' for each such character --------------------------------------------------- */

/* Writes a text of several lines: newlines and tabs pass. */
void spec_escape_terminal(FILE *out, const char *text);

/* Writes n bytes within a line: newlines and tabs become blanks. */
void spec_escape_line(FILE *out, const char *text, size_t n);

/* Changes a line in place: newlines and tabs become '?', too. It does not get longer. */
void spec_escape_in_place(char *line);

/* ---- HTML, XML and SVG: U+FFFD for each such character --------------------------------------- */

/* Writes content of an element, or of an attribute in quotes. _part: its first n bytes. */
void spec_escape_html(FILE *out, const char *text);
void spec_escape_html_part(FILE *out, const char *text, size_t n);

/* ---- Markdown: U+FFFD for each such character ------------------------------------------------ */

/* Writes a text within a line of Markdown, such as a title, a table cell or the text of a link. It
 * only uses backslash escapes, and turns newlines and tabs into blanks. GitHub makes a link of an
 * e-mail address, which no escape prevents. */
void spec_escape_markdown(FILE *out, const char *text);

/* Writes a text as code within a line of Markdown, in backticks. A text with a backtick or a bar
 * could end the code or the cell: it is escaped as by spec_escape_markdown. */
void spec_escape_code(FILE *out, const char *text);

/* Writes prose within a line: its `code` and *emphasis* stay Markdown, but HTML, links and images
 * become plain text. */
void spec_escape_prose(FILE *out, const char *text);

/* Writes lines as an indented code block of Markdown, and an empty line after it. */
void spec_escape_block(FILE *out, const char *text);

/* Writes a path as the target of a link, percent-encoded, without a scheme such as javascript: . */
void spec_escape_link(FILE *out, const char *path);

/* ---- LaTeX and gnuplot: '?' for each such character ------------------------------------------ */

/* Writes a text within a paragraph, a table cell or a node of a picture. Newlines and tabs become
 * blanks; ligatures such as -- are broken; the usual signs of mathematics become commands. */
void spec_escape_latex(FILE *out, const char *text);
void spec_escape_latex_part(FILE *out, const char *text, size_t n);

/* Writes a gnuplot string in single quotes, in which gnuplot expands no backquotes, macros or
 * escapes. */
void spec_escape_gnuplot(FILE *out, const char *text);

/* The same for the label of a tic, which gnuplot reads as a format: % is doubled. */
void spec_escape_gnuplot_tic(FILE *out, const char *text);

/* ---- POSIX shell ----------------------------------------------------------------------------- */

/* Writes one word, of any length, which sh, bash and zsh read as exactly these bytes. A terminal
 * can show it: control characters appear as octal numbers. */
void spec_escape_shell(FILE *out, const char *word);

/* Writes the name of a file: as "./-f" if it would be taken for an option. "-" remains. */
void spec_escape_shell_file(FILE *out, const char *path);

/* The same into a buffer for a message; `otherwise` if the word does not fit, since half a word
 * would be wrong. */
const char *spec_escape_shell_fit(char *buffer, size_t size, const char *path,
                                  const char *otherwise);

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Writes a field in quotes (RFC 4180). */
void spec_escape_csv(FILE *out, const char *text);

#endif
