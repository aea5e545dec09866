/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/page.h"

#include "base/escape.h"
#include "base/settings.h"
#include "base/terminal.h"
#include "base/text_width.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_PART = 3,
    DEEPER = 2
}; /* the first part of a line, as a fraction; smallest extra indent of continuation lines */

int spec_page_given_columns(void)
{
    const char *given = getenv("COLUMNS");
    int columns;
    return given != NULL && spec_settings_parse_int(&columns, given) && columns > 0 ? columns : 0;
}

int spec_page_columns(int descriptor)
{
    return spec_terminal_columns(descriptor, spec_page_given_columns());
}

/* The indent of the lines that continue a line. */
static int hanging_indent(const char *line, int columns)
{
    int indent = (int)strspn(line, " ");
    int hanging = indent + DEEPER;
    for (int i = indent; i < columns / FIRST_PART && line[i] != '\0'; i++)
        if (i > indent + 1 && line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ')
            hanging = i;
    return hanging < columns / 2 ? hanging : 0;
}

/* A command to type would become two where it is broken. */
static bool is_command(const char *line)
{
    return strncmp(line, "    speclab ", 12) == 0;
}

void spec_page_write(char *text, int columns, FILE *out)
{
    while (*text != '\0') {
        char *const line = text, *const end = line + strcspn(line, "\n"), after = *end;
        *end = '\0';
        if (columns <= 0 || is_command(line) || spec_text_width(line) <= columns) {
            spec_escape_line(out, line, strlen(line));
        } else {
            int width;
            const size_t first = spec_text_line(line, columns, &width);
            const int indent = hanging_indent(line, columns);
            size_t shown = first;
            while (shown > 0 && line[shown - 1] == ' ') shown--;
            spec_escape_line(out, line, shown);
            fprintf(out, "\n%*s", indent, "");
            spec_text_wrap(line + first + strspn(line + first, " "), columns - indent, indent, out);
        }
        *end = after;
        text = end;
        if (after == '\n') fputc(*text++, out);
    }
}
