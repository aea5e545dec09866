/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/report/report_pages.h"

#include "base/build_info.h"
#include "base/escape.h"
#include "cli/report/html_parts.h"
#include "cli/report/html_text.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUM = 120 };

/* Returns a sentence on all checks together in Markdown, without a full stop. */
static const char *sum_of(char text[SUM], const spec_report_page *page)
{
    unsigned long long holds = 0, fails = 0;
    int unfinished = 0;
    for (int i = 0; i < page->n; i++) {
        holds += page->source[i].holds;
        fails += page->source[i].fails;
        unfinished += page->source[i].table.unfinished != NULL;
    }
    if (holds + fails == 0)
        snprintf(text, SUM, "No row has a check");
    else if (fails > 0)
        snprintf(text, SUM, "**%llu of %llu checks FAIL**", fails, holds + fails);
    else
        snprintf(text, SUM, holds == 1 ? "The one check holds" : "All %llu checks hold", holds);
    const size_t used = strlen(text);
    if (unfinished > 0 && page->n == 1)
        snprintf(text + used, SUM - used, ", and **the result is unfinished**");
    else if (unfinished > 0)
        snprintf(text + used, SUM - used, ", and **%d of %d results %s unfinished**", unfinished,
                 page->n, unfinished == 1 ? "is" : "are");
    return text;
}

static size_t shown_rows(const spec_report_page *page, const spec_table *table)
{
    return table->n_rows < page->rows ? table->n_rows : page->rows;
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static int write_rows(FILE *out, const spec_result_source *source, size_t rows, spec_error *error)
{
    spec_table shown = {.n_rows = 0};
    int status = GSL_SUCCESS, *column = calloc((size_t)source->n_columns + 1, sizeof *column);
    for (int c = 0; column != NULL && c < source->n_columns; c++) column[c] = c;
    if (column == NULL || spec_table_select(&shown, &source->table, column, source->n_columns,
                                            source->order, rows) != GSL_SUCCESS)
        SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_table_write(&shown, SPEC_FORMAT_MARKDOWN, out, error));
done:
    spec_table_free(&shown);
    free(column);
    return status;
}

/* Returns whether the rows are shown in a different order from the file's. */
static bool is_reordered(const spec_result_source *source)
{
    for (size_t i = 0; i < source->table.n_rows; i++)
        if (source->order[i] != i) return true;
    return false;
}

/* Returns "The first 24 of 30 rows, those that fail before the others"; "" if all rows are shown in
 * order. */
static const char *which_rows(char text[SUM], const spec_result_source *source, size_t rows)
{
    const size_t n = source->table.n_rows;
    const bool some = rows < n, reordered = is_reordered(source);
    const char *order = reordered ? "those that fail before the others" : "";
    if (some)
        snprintf(text, SUM, "The first %zu of %zu rows%s%s", rows, n, *order ? ", " : "", order);
    else
        snprintf(text, SUM, reordered ? "%zu rows, %s" : "", n, order);
    return text;
}

static void write_failures_markdown(FILE *out, const spec_report_page *page)
{
    bool any = false;
    for (int i = 0; i < page->n; i++) {
        if (page->source[i].failures[0] == '\0') continue;
        fprintf(out, "%s%s", any ? "" : "## What fails\n\n", page->source[i].failures);
        any = true;
    }
    if (any) fputc('\n', out);
}

int spec_report_page_markdown(FILE *out, const spec_report_page *page, spec_error *error)
{
    char sum[SUM];
    int status = GSL_SUCCESS;
    fputs("# ", out);
    spec_escape_markdown(out, page->title);
    fprintf(out, "\n\n%s. By speclab %s.\n\n", sum_of(sum, page), spec_build_info_version);
    write_failures_markdown(out, page);
    for (int i = 0; i < page->n; i++) {
        const spec_result_source *source = &page->source[i];
        const size_t rows = shown_rows(page, &source->table);
        fputs("## ", out);
        spec_escape_markdown(out, source->name);
        fprintf(out, "\n\n%s.\n\n", source->evidence);
        SPEC_TRY(write_rows(out, source, rows, error));
        if (*which_rows(sum, source, rows) != '\0') fprintf(out, "\n%s.\n", sum);
        fputc('\n', out);
        spec_escape_block(out, source->table.provenance);
    }
done:
    return status;
}

/* ---- HTML ------------------------------------------------------------------------------------ */

/* Writes what stands in place of a figure, if there is none. */
static void write_no_figure(FILE *out, const spec_result_source *source, const char *why)
{
    if (why[0] == '\0' && source->json) return;
    fputs("<p class=\"note\">No figure: ", out);
    spec_escape_html(out, why[0] != '\0' ? why : "the result names none");
    if (why[0] == '\0')
        fputs("; <code>speclab plot FILE --x COLUMN --y COLUMN</code> draws one", out);
    fputs(".</p>\n", out);
}

static void write_figure(FILE *out, const spec_result_source *source,
                         const spec_report_figure *figure)
{
    if (figure->svg == NULL) {
        write_no_figure(out, source, figure->why.text);
        return;
    }
    fputs("<figure tabindex=\"0\" aria-label=\"Figure of ", out);
    spec_escape_html(out, source->name);
    fputs("; its values are in the table below\">"
          "<object type=\"image/svg+xml\" tabindex=\"-1\" data=\"data:image/svg+xml;base64,",
          out);
    spec_html_text_base64(out, figure->svg, figure->n);
    fputs("\">The figure is an SVG; its values are in the table below.</object></figure>\n", out);
}

static bool is_numeric(const spec_table *table, int column)
{
    bool any = false;
    for (size_t r = 0; r < table->n_rows; r++) {
        const int kind = spec_table_cell(table, r, column)->kind;
        if (kind == SPEC_CELL_TEXT) return false;
        any = any || kind != SPEC_CELL_EMPTY;
    }
    return any;
}

/* Writes a cell with six digits for the reader, and with all ten for sorting, if they differ. */
static void write_cell(FILE *out, const spec_cell *cell, bool numeric)
{
    char shown[48], full[48];
    const char *text = spec_cell_format(cell, SPEC_FORMAT_TABLE, shown, sizeof shown);
    fputs(numeric ? "<td class=\"n\"" : "<td", out);
    if (cell->kind == SPEC_CELL_NUMBER) {
        const char *all = spec_cell_format(cell, SPEC_FORMAT_CSV, full, sizeof full);
        if (strcmp(all, text) != 0) fprintf(out, " data-v=\"%s\"", all);
    }
    fputc('>', out);
    spec_escape_html(out, text);
    fputs("</td>", out);
}

static void write_table(FILE *out, const spec_result_source *source, size_t rows)
{
    const spec_table *table = &source->table;
    bool *numeric = calloc((size_t)source->n_columns + 1, sizeof *numeric);
    char caption[SUM];
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of ", out);
    spec_escape_html(out, source->name);
    if (*which_rows(caption, source, rows) == '\0')
        snprintf(caption, SUM, "%zu row%s", rows, rows == 1 ? "" : "s");
    fprintf(out, "\"><table><caption>%s</caption>\n<thead><tr>", caption);
    for (int c = 0; c < source->n_columns; c++) {
        if (numeric != NULL) numeric[c] = is_numeric(table, c);
        fputs(numeric != NULL && numeric[c] ? "<th scope=\"col\" class=\"n\">"
                                            : "<th scope=\"col\">",
              out);
        spec_escape_html(out, table->column[c]);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; i < rows; i++) {
        const size_t r = source->order[i];
        fputs(source->row_fails[r] ? "<tr class=\"failing\">" : "<tr>", out);
        for (int c = 0; c < source->n_columns; c++)
            write_cell(out, spec_table_cell(table, r, c), numeric != NULL && numeric[c]);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
    free(numeric);
}

static void write_section(FILE *out, const spec_report_page *page, int i,
                          const spec_report_figure *figure)
{
    const spec_result_source *source = &page->source[i];
    fprintf(out, "<section aria-labelledby=\"r%d\">\n<h2 id=\"r%d\">", i + 1, i + 1);
    spec_escape_html(out, source->name);
    fprintf(out, "</h2>\n<p class=\"%s\">",
            source->fails > 0                                       ? "fails"
            : source->holds > 0 && source->table.unfinished == NULL ? "holds"
                                                                    : "unchecked");
    spec_html_text_marked(out, source->evidence);
    fputs(".</p>\n", out);
    write_figure(out, source, figure);
    write_table(out, source, shown_rows(page, &source->table));
    fputs("<details><summary>Where it comes from</summary><pre tabindex=\"0\">", out);
    spec_escape_html(out, source->path);
    fputc('\n', out);
    spec_escape_html(out, source->table.provenance);
    fputs("</pre></details>\n</section>\n", out);
}

/* Writes the failures of all results as one list. */
static void write_failures_html(FILE *out, const spec_report_page *page)
{
    bool any = false;
    for (int i = 0; i < page->n; i++) {
        for (char *at = page->source[i].failures; *at != '\0';) {
            char *end = strchr(at, '\n');
            fputs(any ? "<li>" : "<h2>What fails</h2>\n<ul>\n<li>", out);
            any = true;
            *end = '\0';
            spec_html_text_marked(out, at + 2); /* skips its "- " */
            *end = '\n';
            fputs("</li>\n", out);
            at = end + 1;
        }
    }
    if (any) fputs("</ul>\n", out);
}

/* Writes the results at a glance, with links to their sections. */
static void write_contents(FILE *out, const spec_report_page *page)
{
    fputs("<nav aria-label=\"Results\"><ol>\n", out);
    for (int i = 0; i < page->n; i++) {
        fprintf(out, "<li><a href=\"#r%d\">", i + 1);
        spec_escape_html(out, page->source[i].name);
        fputs("</a>: ", out);
        spec_html_text_marked(out, page->source[i].evidence);
        fputs("</li>\n", out);
    }
    fputs("</ol></nav>\n", out);
}

void spec_report_page_html(FILE *out, const spec_report_page *page,
                           const spec_report_figure *figure)
{
    char sum[SUM];
    fprintf(out, "%s<title>", spec_html_head);
    spec_escape_html(out, page->title);
    fprintf(out, "</title>\n<style>%s</style></head>\n<body><main>\n<h1>", spec_html_style);
    spec_escape_html(out, page->title);
    fputs("</h1>\n<p>", out);
    spec_html_text_marked(out, sum_of(sum, page));
    fprintf(out, ". By speclab %s.</p>\n", spec_build_info_version);
    write_failures_html(out, page);
    if (page->n > 1) write_contents(out, page);
    for (int i = 0; i < page->n; i++) write_section(out, page, i, &figure[i]);
    fprintf(out, "</main><script>%s</script></body></html>\n", spec_html_script);
}
