/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/option_help.h"

#include "base/text_width.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COLUMNS = 79, HELP_COLUMN = 29, USAGE_INDENT = 12, LINE_SIZE = 2048 };

static int by_group_and_name(const void *a, const void *b)
{
    const spec_option_row *one = a, *other = b;
    if (one->group != other->group) return one->group < other->group ? -1 : 1;
    if (one->name == NULL || other->name == NULL)
        return (one->name != NULL) - (other->name != NULL);
    return strcasecmp(one->name, other->name);
}

/* Prints a text up to "\v", with long lines broken. */
static void print_lines(FILE *out, const char *text)
{
    char line[LINE_SIZE];
    while (*text != '\0' && *text != '\v') {
        const size_t length = strcspn(text, "\n\v");
        assert(length < sizeof line);
        memcpy(line, text, length);
        line[length] = '\0';
        spec_text_wrap(line, COLUMNS, 0, out);
        putc('\n', out);
        text += length + (text[length] == '\n');
    }
}

static void print_option(FILE *out, const spec_option_row *row)
{
    const char letter[] = {'-', row->letter, ',', '\0'};
    int column = fprintf(out, "  %-4s--%s", row->letter != '\0' ? letter : "", row->name);
    if (row->value != NULL) column += fprintf(out, "=%s", row->value);
    if (column > HELP_COLUMN - 2) {
        putc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    spec_text_wrap(row->help, COLUMNS - HELP_COLUMN, HELP_COLUMN, out);
    putc('\n', out);
}

void spec_option_help_print(FILE *out, const char *verb, const char *opt_words, const char *doc,
                            spec_option_row *rows, int n)
{
    const char *text = strchr(doc, '\v');
    char usage[LINE_SIZE];
    snprintf(usage, sizeof usage, "Usage: %s [OPTION...]%s%s", verb, opt_words != NULL ? " " : "",
             opt_words != NULL ? opt_words : "");
    spec_text_wrap(usage, COLUMNS - USAGE_INDENT, USAGE_INDENT, out);
    putc('\n', out);
    print_lines(out, doc);
    qsort(rows, (size_t)n, sizeof *rows, by_group_and_name);
    for (int i = 0; i < n; i++) {
        if (i == 0 || rows[i].group != rows[i - 1].group || rows[i].name == NULL) putc('\n', out);
        if (rows[i].name == NULL)
            print_lines(out, rows[i].help);
        else
            print_option(out, &rows[i]);
    }
    if (text == NULL) return;
    putc('\n', out);
    print_lines(out, text + 1);
}
