/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/picture.h"

#include "tests/support/child.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs a reader on the file; a missing reader is reported at its first file. */
static void read_with(const char *program, const char *package, const char *command,
                      const char *path)
{
    char line[512];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", program);
    if (system(line) != 0) {
        static char told[64];
        if (strstr(told, program) == NULL)
            printf("not checked with %s: %s is not installed\n", program, package);
        strncat(told, program, sizeof told - strlen(told) - 1);
        return;
    }
    snprintf(line, sizeof line, "%s %s >/dev/null 2>&1", command, path);
    if (system(line) != 0) fail_msg("%s does not read %s", program, path);
}

void spec_picture_check(const char *path)
{
    char *bytes = spec_file_bytes(path);
    const char *end = strstr(bytes, "</svg>");
    if (strncmp(bytes, "<?xml", 5) != 0 || end == NULL || strspn(end + 6, "\n") != strlen(end + 6))
        fail_msg("%s is not a whole SVG", path);
    if (strstr(bytes, "scale(0.00)") != NULL) fail_msg("%s has a mark of no size", path);
    if (strstr(bytes, "<use ") == NULL && strstr(bytes, "<path ") == NULL)
        fail_msg("%s shows nothing", path);
    free(bytes);
    read_with("python3", "python3",
              "python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])'", path);
    read_with("rsvg-convert", "librsvg2-bin", "rsvg-convert", path);
}

/* A lower bound of a text's box: a letter is half as wide as its font is high. */
typedef struct {
    double left, top, right, bottom;
    char text[64];
} text_box;

static text_box box_of(double x, double y, bool upright, double size, const char *anchor,
                       const char *text)
{
    text_box box;
    const int length = (int)strcspn(text, "<");
    int letters = 0;
    for (int i = 0; i < length; i++) letters += ((unsigned char)text[i] & 0xC0) != 0x80;
    const double width = 0.5 * size * letters;
    const double before = strncmp(anchor, "middle", 6) == 0 ? 0.5 * width
                          : strncmp(anchor, "end", 3) == 0  ? width
                                                            : 0.0;
    if (upright)
        box = (text_box){x - 0.75 * size, y + before - width, x + 0.2 * size, y + before, ""};
    else
        box = (text_box){x - before, y - 0.75 * size, x - before + width, y + 0.2 * size, ""};
    snprintf(box.text, sizeof box.text, "%.*s", length, text);
    return box;
}

void spec_picture_texts_apart(const char *path, const char *what)
{
    enum { BOXES_MAX = 400 };
    static text_box box[BOXES_MAX];
    char *bytes = spec_file_bytes(path);
    int n = 0;
    for (const char *at = bytes; (at = strstr(at, "<g transform=\"translate(")) != NULL; at++) {
        double x, y, size;
        const char *end = strchr(at, '>'), *font = strstr(at, "font-size=\"");
        const char *anchor = strstr(at, "text-anchor=\""), *text = strstr(at, "<text>");
        if (end == NULL || font == NULL || anchor == NULL || text == NULL || anchor > end) continue;
        assert_int_equal(sscanf(at, "<g transform=\"translate(%lf,%lf)", &x, &y), 2);
        assert_int_equal(sscanf(font, "font-size=\"%lf", &size), 1);
        const char *turned = strstr(at, "rotate(");
        assert_true(n < BOXES_MAX);
        if (text[strlen("<text>")] == '<') continue; /* a tic without a label */
        box[n++] = box_of(x, y, turned != NULL && turned < end, size,
                          anchor + strlen("text-anchor=\""), text + strlen("<text>"));
    }
    free(bytes);
    assert_true(n > 0);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (box[i].left < box[j].right && box[j].left < box[i].right &&
                box[i].top < box[j].bottom && box[j].top < box[i].bottom)
                fail_msg("%s: '%s' covers '%s'", what, box[i].text, box[j].text);
}
