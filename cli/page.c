/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/page.h"

#include "base/escape.h"
#include "base/settings.h"
#include "base/terminal.h"
#include "base/text_width.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* FIRST_PART: the first 1/FIRST_PART of a line. DEEPER: minimum extra indent of continuation lines.
 * COMMAND: indent of continuation lines of a command. */
enum { FIRST_PART = 3, DEEPER = 2, COMMAND = 6 };

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

/* Returns the indent of the lines that continue a line. */
static int hanging_indent(const char *line, int columns)
{
    int indent = (int)strspn(line, " ");
    int hanging = indent + DEEPER;
    for (int i = indent; i < columns / FIRST_PART && line[i] != '\0'; i++)
        if (i > indent + 1 && line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ')
            hanging = i;
    return hanging < columns / 2 ? hanging : 0;
}

static bool is_command(const char *line)
{
    return strncmp(line, "    speclab ", 12) == 0;
}

/* Returns the bytes of a word, up to a blank outside quotes, which escape.h writes. */
static size_t word_length(const char *word)
{
    bool single = false, twofold = false;
    size_t n = 0;
    for (; word[n] != '\0' && (single || twofold || word[n] != ' '); n++) {
        if (word[n] == '\\' && !single && word[n + 1] != '\0')
            n++;
        else if (word[n] == '\'')
            single = !single;
        else if (word[n] == '"' && !single)
            twofold = !twofold;
    }
    return n;
}

/* Writes a command with backslashes where it continues, so that the shell reads it as one. */
static void write_command(char *line, int columns, FILE *out)
{
    const size_t indent = strspn(line, " ");
    int column = fprintf(out, "%*s", (int)indent, "");
    for (char *word = line + indent; *word != '\0';) {
        const size_t n = word_length(word);
        char *const end = word + n, after = *end;
        *end = '\0';
        const int width = spec_text_width(word), mark = after != '\0' ? 2 : 0;
        const bool first = word == line + indent;
        if (!first && column + 1 + width + mark > columns)
            column = fprintf(out, " \\\n%*s", COMMAND, "") - 3;
        else if (!first)
            column += fprintf(out, " ");
        spec_escape_line(out, word, n);
        column += width;
        *end = after;
        word = end + strspn(end, " ");
    }
}

void spec_page_write(char *text, int columns, FILE *out)
{
    while (*text != '\0') {
        char *const line = text, *const end = line + strcspn(line, "\n"), after = *end;
        *end = '\0';
        if (columns <= 0 || spec_text_width(line) <= columns) {
            spec_escape_line(out, line, strlen(line));
        } else if (is_command(line)) {
            write_command(line, columns, out);
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
