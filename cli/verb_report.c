/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/report/report_pages.h"
#include "cli/stop.h"
#include "cli/usage.h"
#include "cli/verb.h"

#include "cli/figures/gnuplot.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 1000, ROWS_MAX = 100000, ROWS_HTML = 2000, ROWS_MARKDOWN = 24 };

typedef struct {
    const char *output, *title;
    bool html, force;
    uint64_t rows; /* 0: by the format */
    const char *path[FILES_MAX];
    int n;
} arguments;

static void take(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    if (args->n == FILES_MAX)
        spec_usage_fail(verb, "'%s': a page has at most %d results", word, FILES_MAX);
    args->path[args->n++] = word;
}

#define FIELD(member) SPEC_FIELD(arguments, member)
static const spec_field fields[] = {
    {"html", 0, NULL,
     "one HTML file with tables and figures, which needs no other file (if FILE ends in .html)",
     FIELD(html)},
    {"output", 'o', "FILE", "the page (standard output)", FIELD(output)},
    {"title", 0, "TEXT", "the title of the page", FIELD(title), .fallback = "speclab report"},
    {"rows", 0, "N", "maximum number of rows in a table (HTML: 2000; Markdown: 24)", FIELD(rows),
     .low = 1, .high = ROWS_MAX},
    {"force", 0, NULL,
     "overwrite the page; without --force an older file that differs is kept as FILE.bak",
     FIELD(force)},
    {0},
};

/* Draws the figures of all results; prints one line if gnuplot is missing. */
static void draw(spec_report_figure *figure, const spec_report_page *page, const char *verb)
{
    spec_error missing = {{0}};
    if (spec_gnuplot_check(&missing) != GSL_SUCCESS)
        spec_usage_say(verb, "the page has no figures: %s", missing.text);
    for (int i = 0; i < page->n && spec_stop == 0; i++)
        spec_report_figure_draw(&figure[i], &page->source[i]);
}

const spec_fields spec_verb_report_options = {
    .fields = fields,
    .alone = true,
    .doc =
    "show results on one page, as Markdown or as an HTML file\vA RESULT is the CSV or the JSON of "
    "any verb or program. The page begins with what fails: which row of which file, and by how "
    "much. Each result has a section with its checks, its table (failing rows first) and its "
    "provenance. In HTML the table can be sorted and filtered, and gnuplot draws the figure that "
    "the result names; a point under the mouse shows its numbers. The page loads nothing from the "
    "network. If a row was edited after 'speclab run -o', the page says so. The exit status is 1 "
    "if a check failed or a row was edited.\n"
    "\n"
    "  $ speclab sweep -o sweep.csv && speclab report sweep.csv -o sweep.html\n"
    "  $ speclab report --html *.csv --title 'Our pair' -o results.html",
    .words = "RESULT...",
    .word = take,
};

int spec_verb_report(spec_context *context, int argc, char **argv)
{
    const char *verb = argv[0];
    arguments args = {.n = 0};
    (void)context;
    spec_fields_parse(&args, NULL, &spec_verb_report_options, argc, argv);
    if (args.n == 0)
        spec_usage_fail(verb, "no result is given; 'speclab sweep -o FILE.csv' writes one");
    const char *ending = args.output != NULL ? strrchr(args.output, '.') : NULL;
    args.html = args.html || (ending != NULL && strcmp(ending, ".html") == 0);

    int status = GSL_SUCCESS;
    spec_error error = {{0}};
    spec_output file = {.out = NULL};
    bool fails = false;
    spec_result_source *source = calloc((size_t)args.n, sizeof *source);
    spec_report_figure *figure = calloc((size_t)args.n, sizeof *figure);
    if (source == NULL || figure == NULL) SPEC_TRY(spec_no_memory(&error));
    SPEC_TRY(spec_output_probe(args.output, &error));
    for (int i = 0; i < args.n; i++) {
        SPEC_TRY(spec_result_source_load(&source[i], args.path[i], &error));
        fails = fails || source[i].fails > 0;
    }
    const spec_report_page page = {.title = args.title,
                                   .source = source,
                                   .n = args.n,
                                   .rows = args.rows > 0 ? args.rows
                                           : args.html   ? ROWS_HTML
                                                         : ROWS_MARKDOWN};
    if (args.html) draw(figure, &page, verb);
    SPEC_TRY(spec_stop_check(&spec_stop, &error));
    SPEC_TRY(spec_output_open(&file, args.output, verb, &error));
    if (args.html)
        spec_report_page_html(file.out, &page, figure);
    else
        SPEC_TRY(
            spec_output_check(&file, spec_report_page_markdown(file.out, &page, &error), &error));
    SPEC_TRY(spec_output_close(&file, args.force, verb, &error));
done:
    spec_output_discard(&file);
    if (status != GSL_SUCCESS) spec_usage_say(verb, "%s", error.text);
    for (int i = 0; i < args.n && source != NULL && figure != NULL; i++) {
        spec_result_source_free(&source[i]);
        spec_report_figure_free(&figure[i]);
    }
    free(source);
    free(figure);
    return status != GSL_SUCCESS ? SPEC_EXIT_USAGE : fails ? SPEC_EXIT_FAILS : SPEC_EXIT_HOLDS;
}
