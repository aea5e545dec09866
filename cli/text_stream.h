/* text_stream: text from a model, written as it comes, in colours where a person reads it.
 * To a file or a pipe it writes the bytes as they are. Shown to a person, a character waits until all its bytes are
 * there, and control characters and bytes that are no UTF-8 appear as \xNN, so that no terminal obeys a vocabulary.
 * Borrows the stream. */
#ifndef SPECLAB_TEXT_STREAM_H
#define SPECLAB_TEXT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
    FILE *out;
    bool shown;              /* to a person */
    bool coloured;           /* which implies shown */
    const char *colour;      /* that is on, "" for none */
    unsigned char held[4];   /* the front of a character */
    size_t n_held;
    const char *held_colour; /* its own */
    bool at_line_start;      /* nothing, or a line end, was written last */
} spec_text_stream;

void spec_text_stream_init(spec_text_stream *stream, FILE *out, bool shown, bool coloured);

/* Write n bytes; `colour` is the parameter of an SGR sequence, as "32" (green), or "" for none. It must live on. */
void spec_text_stream_write(spec_text_stream *stream, const char *bytes, size_t n, const char *colour);

/* What is held is written, colours go off, and a shown text ends its line. */
void spec_text_stream_end(spec_text_stream *stream);

#endif
