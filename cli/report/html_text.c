/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/report/html_text.h"

#include "base/escape.h"

#include <ctype.h>
#include <string.h>

void spec_html_text_marked(FILE *out, const char *text)
{
    static const struct {
        const char *mark, *open, *close;
    } marks[] = {{"**", "<strong>", "</strong>"}, {"`", "<code>", "</code>"}};
    while (*text != '\0') {
        const char *next = text + strcspn(text, "*`\\"), *end = NULL;
        spec_escape_html_part(out, text, (size_t)(next - text));
        text = next;
        if (*text == '\\' && ispunct((unsigned char)text[1])) {
            spec_escape_html_part(out, text + 1, 1);
            text += 2;
            continue;
        }
        for (int m = 0; m < 2 && end == NULL; m++) {
            const size_t n = strlen(marks[m].mark);
            if (strncmp(text, marks[m].mark, n) != 0) continue;
            if ((end = strstr(text + n, marks[m].mark)) == NULL) continue;
            fputs(marks[m].open, out);
            spec_escape_html_part(out, text + n, (size_t)(end - text) - n);
            fputs(marks[m].close, out);
            text = end + n;
        }
        if (end == NULL && *text != '\0') spec_escape_html_part(out, text++, 1);
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
