/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/list_page.h"

#include "base/memory_text.h"
#include "base/progress.h"
#include "base/text_width.h"
#include "cli/output.h"
#include "cli/verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KIND, NAME, TEXT, WIDEST = 100, NAME_MOST = 24, GAP = 2 };

static const char *text_at(const spec_table *table, size_t row, int column)
{
    const spec_cell *cell = spec_table_cell(table, row, column);
    return cell->kind == SPEC_CELL_TEXT ? cell->text : "";
}

static int name_length(const char *name)
{
    return (int)strcspn(name, "?:");
}

/* Returns the index of the text column: the longest one after the name. */
static int text_column(const spec_table *table)
{
    int best = TEXT;
    size_t most = 0;
    for (int c = TEXT; c < table->n_columns; c++)
        for (size_t r = 0; r < table->n_rows; r++) {
            if (strlen(text_at(table, r, c)) <= most) continue;
            most = strlen(text_at(table, r, c));
            best = c;
        }
    return best;
}

/* Returns the width of the names of one kind, in consecutive rows from `begin`. */
static int name_width(const spec_table *table, size_t begin)
{
    int width = 0;
    for (size_t r = begin; r < table->n_rows; r++) {
        if (strcmp(text_at(table, r, KIND), text_at(table, begin, KIND)) != 0) break;
        const int n = name_length(text_at(table, r, NAME));
        if (n > width) width = n;
    }
    return width < NAME_MOST ? width : NAME_MOST;
}

static const char *heading_of(const spec_list_heading *headings, const char *kind)
{
    for (; headings->kind != NULL; headings++)
        if (strcmp(headings->kind, kind) == 0) return headings->heading;
    return kind;
}

/* Returns false if memory runs out. */
static bool write_entry(const spec_table *table, size_t row, int text, int width, int columns,
                        FILE *out)
{
    const char *name = text_at(table, row, NAME);
    const int indent = width + 2 * GAP, length = name_length(name);
    spec_memory_text whole;
    if (!spec_memory_text_open(&whole)) return false;
    fputs(text_at(table, row, text), whole.out);
    for (int c = TEXT; c < table->n_columns; c++)
        if (c != text && *text_at(table, row, c) != '\0')
            fprintf(whole.out, " [%s]", text_at(table, row, c));
    char *line = spec_memory_text_take(&whole, NULL);
    if (line == NULL) return false;
    fprintf(out, "%*s%-*.*s", GAP, "", width + GAP, length, name);
    if (length > width) fprintf(out, "\n%*s", indent, "");
    spec_text_wrap(line, columns - indent, indent, out);
    fputc('\n', out);
    free(line);
    if (name[length] == '\0') return true;
    fprintf(out, "%*s", indent, "");
    spec_text_wrap(name, columns - indent, indent, out);
    fputc('\n', out);
    return true;
}

/* Writes the page; returns false if memory runs out. A name is cut at its first '?' or ':', and a
 * line below the text then gives it in full. Further columns follow the text in brackets. */
static bool write_page(const spec_table *table, const spec_list_heading *headings, int columns,
                       FILE *out)
{
    const int text = text_column(table);
    int width = 0;
    if (columns > WIDEST) columns = WIDEST;
    for (size_t r = 0; r < table->n_rows; r++) {
        const char *kind = text_at(table, r, KIND);
        if (r == 0 || strcmp(kind, text_at(table, r - 1, KIND)) != 0) {
            if (r > 0) fputc('\n', out);
            spec_text_wrap(heading_of(headings, kind), columns, 0, out);
            fputs("\n", out);
            width = name_width(table, r);
        }
        if (!write_entry(table, r, text, width, columns, out)) return false;
    }
    return true;
}

int spec_list_page_show(const spec_table *table, const spec_list_heading *headings,
                        const spec_options *options, const char *verb)
{
    const int columns = spec_options_columns(options);
    if (columns == 0 || (options->format_given && options->format != SPEC_FORMAT_TABLE))
        return spec_options_show(table, options, verb);
    spec_progress_clear();
    const bool whole = !table->lost && write_page(table, headings, columns, spec_output_standard());
    if (fflush(spec_output_standard()) == 0 && whole) return SPEC_EXIT_HOLDS;
    if (whole) spec_usage_say(verb, "standard output: %s", strerror(errno));
    else spec_usage_say(verb, "out of memory");
    return SPEC_EXIT_USAGE;
}
