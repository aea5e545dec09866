/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/picture.h"

#include "tests/support/child.h"

#include <math.h>
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

/* ---- texts of an SVG by gnuplot -------------------------------------------------------------- */

typedef struct {
    double x, y, size;
    bool upright;
    char anchor; /* s, m or e: its start, middle or end is at x */
    char text[64];
} drawn_text;

enum { TEXTS_MAX = 400 };

static int read_texts(drawn_text *texts, const char *path)
{
    char *bytes = spec_file_bytes(path);
    int n = 0;
    for (const char *at = bytes; (at = strstr(at, "<g transform=\"translate(")) != NULL; at++) {
        drawn_text t = {.anchor = 's'};
        const char *end = strchr(at, '>'), *font = strstr(at, "font-size=\"");
        const char *anchor = strstr(at, "text-anchor=\""), *text = strstr(at, "<text");
        if (end == NULL || font == NULL || anchor == NULL || text == NULL || anchor > end) continue;
        text = strchr(text, '>') + 1; /* a text with two blanks has an attribute */
        assert_int_equal(sscanf(at, "<g transform=\"translate(%lf,%lf)", &t.x, &t.y), 2);
        assert_int_equal(sscanf(font, "font-size=\"%lf", &t.size), 1);
        const char *turned = strstr(at, "rotate(");
        t.upright = turned != NULL && turned < end;
        t.anchor = anchor[strlen("text-anchor=\"")];
        snprintf(t.text, sizeof t.text, "%.*s", (int)strcspn(text, "<"), text);
        if (t.text[0] == '\0') continue; /* a tic without a label */
        assert_true(n < TEXTS_MAX);
        texts[n++] = t;
    }
    free(bytes);
    assert_true(n > 0);
    return n;
}

/* Computes a lower bound of a text's box, assuming that a letter is half as wide as its font is
 * high. */
typedef struct {
    double left, top, right, bottom;
} text_box;

static text_box box_of(const drawn_text *t)
{
    int letters = 0;
    for (const char *c = t->text; *c != '\0'; c++) letters += ((unsigned char)*c & 0xC0) != 0x80;
    const double width = 0.5 * t->size * letters;
    const double before = t->anchor == 'm' ? 0.5 * width : t->anchor == 'e' ? width : 0.0;
    if (t->upright)
        return (text_box){t->x - 0.75 * t->size, t->y + before - width, t->x + 0.2 * t->size,
                          t->y + before};
    return (text_box){t->x - before, t->y - 0.75 * t->size, t->x - before + width,
                      t->y + 0.2 * t->size};
}

void spec_picture_texts_apart(const char *path, const char *what)
{
    static drawn_text text[TEXTS_MAX];
    static text_box box[TEXTS_MAX];
    const int n = read_texts(text, path);
    for (int i = 0; i < n; i++) box[i] = box_of(&text[i]);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (box[i].left < box[j].right && box[j].left < box[i].right &&
                box[i].top < box[j].bottom && box[j].top < box[i].bottom)
                fail_msg("%s: '%s' covers '%s'", what, text[i].text, text[j].text);
}

/* ---- labels of axes -------------------------------------------------------------------------- */

static bool is_number(const drawn_text *t)
{
    char *end;
    if (t->upright) return false;
    strtod(t->text, &end);
    return *end == '\0';
}

/* Returns whether two labels belong to one axis: below a panel in a row, or left of it in a
 * column. */
static bool same_axis(const drawn_text *a, const drawn_text *b)
{
    return is_number(b) && a->anchor == b->anchor &&
           (a->anchor == 'm' ? a->y == b->y : a->x == b->x);
}

/* Returns the title below a row of labels, the nearest one if there are several; or NULL. */
static const drawn_text *title_below(const drawn_text *text, int n, const drawn_text *label)
{
    const drawn_text *title = NULL;
    for (int i = 0; i < n; i++)
        if (text[i].anchor == 'm' && !text[i].upright && text[i].y > label->y + 1.0 &&
            !is_number(&text[i]) &&
            (title == NULL || text[i].y < title->y - 1.0 ||
             (text[i].y < title->y + 1.0 &&
              fabs(text[i].x - label->x) < fabs(title->x - label->x))))
            title = &text[i];
    return title;
}

void spec_picture_axes_labelled(const char *path, const char *what)
{
    static const char *const counts[] = {
        "tokens)",    "siblings n",          "steps",           "tried", "batches",
        "(requests)", "requests in a batch", "tokens in a pass"};
    static drawn_text text[TEXTS_MAX];
    const int n = read_texts(text, path);
    for (int i = 0; i < n; i++) {
        const drawn_text *label = &text[i];
        int labels = 0;
        if (!is_number(label) || label->anchor == 's') continue;
        for (int j = 0; j < n; j++) labels += same_axis(label, &text[j]);
        if (labels < 2) fail_msg("%s: an axis has one label, %s", what, label->text);
        const drawn_text *title = label->anchor == 'm' ? title_below(text, n, label) : NULL;
        for (size_t c = 0; title != NULL && c < sizeof counts / sizeof counts[0]; c++)
            if (strstr(title->text, counts[c]) != NULL && strchr(label->text, '.') != NULL)
                fail_msg("%s: the axis '%s' has the label %s", what, title->text, label->text);
    }
}
