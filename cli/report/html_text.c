/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/report/html_text.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

static const char *entity(uint32_t code)
{
    switch (code) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: break;
    }
    const bool control = (code < 0x20 && code != '\n' && code != '\t') ||
                         (code >= 0x7F && code < 0xA0) || (code >= 0x202A && code <= 0x202E) ||
                         (code >= 0x2066 && code <= 0x2069);
    return control || code == SPEC_UTF8_INVALID ? "\xEF\xBF\xBD" : NULL;
}

static void write_bytes(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = spec_utf8_decode(&code, (const unsigned char *)text + i, n - i);
        const char *instead = entity(code);
        if (instead != NULL)
            fputs(instead, out);
        else
            fwrite(text + i, 1, length, out);
    }
}

void spec_html_text_write(FILE *out, const char *text)
{
    write_bytes(out, text, strlen(text));
}

void spec_html_text_marked(FILE *out, const char *text)
{
    static const struct {
        const char *mark, *open, *close;
    } marks[] = {{"**", "<strong>", "</strong>"}, {"`", "<code>", "</code>"}};
    while (*text != '\0') {
        const char *next = text + strcspn(text, "*`"), *end = NULL;
        write_bytes(out, text, (size_t)(next - text));
        text = next;
        for (int m = 0; m < 2 && end == NULL; m++) {
            const size_t n = strlen(marks[m].mark);
            if (strncmp(text, marks[m].mark, n) != 0) continue;
            if ((end = strstr(text + n, marks[m].mark)) == NULL) continue;
            fputs(marks[m].open, out);
            write_bytes(out, text + n, (size_t)(end - text) - n);
            fputs(marks[m].close, out);
            text = end + n;
        }
        if (end == NULL && *text != '\0') write_bytes(out, text++, 1);
    }
}

void spec_html_text_base64(FILE *out, const char *bytes, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < n; i += 3) {
        const unsigned second = i + 1 < n ? at[i + 1] : 0, third = i + 2 < n ? at[i + 2] : 0;
        const unsigned word = (unsigned)at[i] << 16 | second << 8 | third;
        fputc(digit[word >> 18], out);
        fputc(digit[word >> 12 & 63], out);
        fputc(i + 1 < n ? digit[word >> 6 & 63] : '=', out);
        fputc(i + 2 < n ? digit[word & 63] : '=', out);
    }
}
