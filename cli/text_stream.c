/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/text_stream.h"

#include "base/escape.h"
#include "base/utf8.h"

#include <string.h>

void spec_text_stream_init(spec_text_stream *stream, FILE *out, bool shown, bool coloured)
{
    *stream = (spec_text_stream){.out = out,
                                 .shown = shown || coloured,
                                 .coloured = coloured,
                                 .colour = "",
                                 .at_line_start = true};
}

static void turn_on(spec_text_stream *stream, const char *colour)
{
    if (!stream->coloured || strcmp(colour, stream->colour) == 0) return;
    fprintf(stream->out, "\033[%sm", colour[0] != '\0' ? colour : "0");
    stream->colour = colour;
}

/* Returns whether these bytes can be the beginning of a character. */
static bool is_front(const unsigned char *bytes, size_t n)
{
    const size_t whole = bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : 2;
    if (bytes[0] < 0xC2 || bytes[0] > 0xF4 || n >= whole) return false;
    for (size_t i = 1; i < n; i++)
        if ((bytes[i] & 0xC0) != 0x80) return false;
    return true;
}

/* Writes one character of n bytes, or one invalid byte. Newlines and tabs pass. */
static void put(spec_text_stream *stream, const unsigned char *bytes, size_t n, uint32_t code,
                const char *colour)
{
    const bool passes = code == '\n' || code == '\t' || !spec_escape_is_control(code);
    turn_on(stream, colour);
    if (passes)
        fwrite(bytes, 1, n, stream->out);
    else
        for (size_t i = 0; i < n; i++) fprintf(stream->out, "\\x%02x", bytes[i]);
    stream->at_line_start = code == '\n';
}

void spec_text_stream_write(spec_text_stream *stream, const char *bytes, size_t n,
                            const char *colour)
{
    if (!stream->shown) {
        fwrite(bytes, 1, n, stream->out);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (stream->n_held == 0) stream->held_colour = colour;
        stream->held[stream->n_held++] = (unsigned char)bytes[i];
        while (stream->n_held > 0 && !is_front(stream->held, stream->n_held)) {
            uint32_t code;
            const size_t used = spec_utf8_decode(&code, stream->held, stream->n_held);
            put(stream, stream->held, used, code, stream->held_colour);
            stream->n_held -= used;
            memmove(stream->held, stream->held + used, stream->n_held);
            stream->held_colour = colour;
        }
    }
}

void spec_text_stream_end(spec_text_stream *stream)
{
    if (!stream->shown) return;
    for (size_t i = 0; i < stream->n_held; i++)
        put(stream, stream->held + i, 1, SPEC_UTF8_INVALID, stream->held_colour);
    stream->n_held = 0;
    turn_on(stream, "");
    if (!stream->at_line_start) fputc('\n', stream->out);
    stream->at_line_start = true;
}
