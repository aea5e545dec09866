/* SPDX-License-Identifier: GPL-3.0-or-later */
/* text_stream: generated text, written as it comes, with colours and escapes on a terminal.
 * Files and pipes get the bytes unchanged. On a terminal a character is held until all its bytes
 * have arrived. Control characters and invalid UTF-8 appear as \xNN, so that no token can control
 * the terminal. Borrows the stream. */
#ifndef SPECLAB_TEXT_STREAM_H
#define SPECLAB_TEXT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
    FILE *out;
    bool shown;            /* the stream is a terminal */
    bool coloured;         /* implies shown */
    const char *colour;    /* the current colour, "" for none */
    unsigned char held[4]; /* the first bytes of a character that is not complete yet */
    size_t n_held;
    const char *held_colour; /* the colour of the held bytes */
    bool at_line_start;      /* nothing was written so far, or a newline was written last */
} spec_text_stream;

void spec_text_stream_init(spec_text_stream *stream, FILE *out, bool shown, bool coloured);

/* Writes n bytes. `colour` is the parameter of an SGR sequence, such as "32" (green), or "" for no
 * colour; the string must outlive the stream. */
void spec_text_stream_write(spec_text_stream *stream, const char *bytes, size_t n,
                            const char *colour);

/* Writes the held bytes, resets the colour, and ends the line on a terminal. */
void spec_text_stream_end(spec_text_stream *stream);

#endif
