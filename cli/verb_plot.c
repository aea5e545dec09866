/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fields.h"
#include "cli/figures/figure.h"
#include "cli/output.h"
#include "cli/verb.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    const char *csv, *output, *figure, *x, *y, *by, *facet, *heat, *error, *log, *kind, *title,
        *xlabel, *ylabel, *size, *font, *terminal, *legend;
    bool force, no_title;
    spec_word_list where;
} arguments;

static void read_where(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    if (spec_word_list_add(&args->where, word) != GSL_SUCCESS) spec_usage_no_memory(verb);
}

static void read_file(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    if (args->csv != NULL)
        spec_usage_fail(verb, "'%s' is a second file; give only one CSV file", word);
    args->csv = word;
}

#define FIELD(member) SPEC_FIELD(arguments, member)
static const spec_field fields[] = {
    {"output", 'o', "FILE", "the figure file: .svg, .png, .pdf or .tex (FILE.svg)", FIELD(output)},
    {"figure", 'F', "NAME",
     "the figure to draw, see 'speclab list figures' (the one that the result names)",
     FIELD(figure)},
    {"force", 0, NULL,
     "overwrite the figure file; without --force an older file that differs is kept as FILE.bak",
     FIELD(force)},
    {.help = "A custom figure, from any CSV with a header line:", .group = 2},
    {"x", 0, "COLUMN", "column of the horizontal axis: numbers or names", FIELD(x), .group = 2},
    {"y", 0, "COLUMN,...",
     "columns of the vertical axis; error bars come from Y_se (two standard errors) or Y_low and "
     "Y_high, and a line from Y_theory",
     FIELD(y), .group = 2},
    {"kind", 0, "KIND", "lines, scatter or bars (lines)", FIELD(kind), .group = 2},
    {"error", 0, "COLUMN,...",
     "error bars: a column for each of --y, added and subtracted, or two with the ends of the bar",
     FIELD(error), .group = 2},
    {"by", 0, "COLUMN,...", "one series per value", FIELD(by), .group = 2},
    {"facet", 0, "COLUMN", "one panel per value", FIELD(facet), .group = 2},
    {"heat", 0, "COLUMN", "a heat map: this column as colour over x and y", FIELD(heat),
     .group = 2},
    {"log", 0, "x|y|xy", "logarithmic axes", FIELD(log), .group = 2},
    {"where", 0, "COLUMN=VALUE,...",
     "only rows with one of these values; may be repeated: for another column, or for a value with "
     "a comma",
     .read = read_where, .repeats = true, .group = 2},
    {.help = "Appearance:", .group = 3},
    {"title", 0, "TEXT", "the title (made from the data)", FIELD(title), .group = 3},
    {"xlabel", 0, "TEXT", "the title of the horizontal axis (from its column)", FIELD(xlabel),
     .group = 3},
    {"ylabel", 0, "TEXT", "the title of the vertical axis (from its columns)", FIELD(ylabel),
     .group = 3},
    {"no-title", 0, NULL, "no title", FIELD(no_title), .group = 3},
    {"size", 0, "WIDTHxHEIGHT",
     "the size, such as 8x6cm, 3x2in or 900x600px (900x600px; pdf, tikz: 15x10cm)", FIELD(size),
     .group = 3},
    {"font", 0, "NAME,SIZE",
     "font and size in points (DejaVu Sans, 8 to 10 depending on the width)", FIELD(font),
     .group = 3},
    {"terminal", 0, "NAME",
     "file format: svg, png, pdf or tikz (for LaTeX) (from the ending of -o)", FIELD(terminal),
     .group = 3},
    {"legend", 0, "PLACE", "position of the legend: right, bottom, none or auto", FIELD(legend),
     .fallback = "auto", .group = 3},
    {0},
};
static const spec_field_relation relations[] = {{"title", false, "no-title", NULL}, {0}};

static void take_text(char **text, const char *opt_word, const char *verb)
{
    if (opt_word != NULL && (*text = strdup(opt_word)) == NULL) spec_usage_no_memory(verb);
}

static void take_column(char **column, const char *option, const char *opt_word, const char *verb)
{
    if (opt_word != NULL && *opt_word == '\0')
        spec_usage_fail(verb, "--%s: the column has no name", option);
    take_text(column, opt_word, verb);
}

static void take_columns(spec_word_list *list, const char *option, const char *opt_word,
                         const char *verb)
{
    if (opt_word == NULL) return;
    if (opt_word[strspn(opt_word, ", ")] == '\0')
        spec_usage_fail(verb, "--%s: '%s' names no column", option, opt_word);
    if (spec_word_list_add(list, opt_word) != GSL_SUCCESS) spec_usage_no_memory(verb);
}

static void take_axes(spec_figure_axes *axes, const arguments *args, const char *verb)
{
    spec_error error = {{0}};
    take_column(&axes->x, "x", args->x, verb);
    take_column(&axes->facet, "facet", args->facet, verb);
    take_column(&axes->heat, "heat", args->heat, verb);
    take_columns(&axes->y, "y", args->y, verb);
    take_columns(&axes->by, "by", args->by, verb);
    take_columns(&axes->error, "error", args->error, verb);
    take_text(&axes->x_title, args->xlabel, verb);
    take_text(&axes->y_title, args->ylabel, verb);
    if ((args->log != NULL && spec_figure_axes_log(axes, args->log, &error) != GSL_SUCCESS) ||
        (args->kind != NULL && spec_figure_axes_kind(axes, args->kind, &error) != GSL_SUCCESS))
        spec_usage_fail(verb, "%s", error.text);
}

static void take_style(spec_figure_style *style, const arguments *args, const char *verb)
{
    spec_error error = {{0}};
    style->title = args->no_title ? "" : args->title;
    if ((args->size != NULL && spec_figure_style_size(style, args->size, &error) != GSL_SUCCESS) ||
        (args->font != NULL && spec_figure_style_font(style, args->font, &error) != GSL_SUCCESS) ||
        (args->terminal != NULL &&
         spec_figure_style_terminal(style, args->terminal, &error) != GSL_SUCCESS) ||
        spec_figure_style_legend(style, args->legend, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s", error.text);
}

/* Turns "dir/result.csv" into "dir/result.svg". */
static void default_output(char *path, size_t size, const char *csv, const char *suffix)
{
    static const char *const endings[] = {".csv", ".tsv", ".txt", ".json", ".jsonl"};
    const char *dot = strrchr(csv, '.');
    size_t length = strlen(csv);
    for (size_t i = 0; dot != NULL && dot > csv && i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(dot, endings[i]) == 0) length = (size_t)(dot - csv);
    snprintf(path, size, "%.*s%s", (int)length, csv, suffix);
}

const spec_fields spec_verb_plot_options = {
    .fields = fields,
    .alone = true,
    .relations = relations,
    .doc =
    "draw the figure of a result, or of any CSV\vA result names its figure in its # lines; "
    "'speclab list figures' shows all figures and the columns that they need. For other files "
    "plot chooses the columns, and a line says which. A file is CSV with commas, semicolons or "
    "tabs between its fields, or JSON. Error bars show two standard errors; lines show theory. "
    "The title says if a run was interrupted.\n"
    "\n"
    "  $ speclab plot sweep.csv\n"
    "  $ speclab plot sweep.csv --x K --y speedup --by alpha --where c=0.1\n"
    "  $ speclab plot mine.csv --x n --y ms --facet gpu --log xy -o mine.pdf\n"
    "  $ speclab plot mine.csv --x gpu --y ms --error std --kind bars --ylabel 'Time (ms)'\n"
    "  $ speclab plot sweep.csv --x alpha --y K --heat speedup --size 8x6cm",
    .words = "FILE.csv",
    .word = read_file,
};

int spec_verb_plot(spec_context *context, int argc, char **argv)
{
    (void)context;
    arguments args = {0};
    spec_figure_axes axes = {0};
    spec_figure_style style = SPEC_FIGURE_STYLE_DEFAULT;
    spec_fields_parse(&args, NULL, &spec_verb_plot_options, argc, argv);
    if (args.csv == NULL)
        spec_usage_fail(argv[0], "no CSV file is given; 'speclab run -o FILE.csv' writes one");
    take_axes(&axes, &args, argv[0]);
    take_style(&style, &args, argv[0]);

    spec_error error = {{0}};
    spec_figure_note note;
    char output[PATH_MAX];
    default_output(output, sizeof output, args.csv, spec_figure_style_suffix(&style));
    if (args.output != NULL) snprintf(output, sizeof output, "%s", args.output);
    if (args.terminal == NULL && spec_figure_style_ending(&style, output, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "-o %s; or choose with --terminal", error.text);
    if (style.terminal == SPEC_TERMINAL_TIKZ && style.font[0] != '\0')
        spec_usage_fail(
            argv[0],
            "--font %s: LaTeX chooses the font of a tikz picture; --font ,8 sets only the size",
            style.font);
    const spec_figure_request request = {.opt_name = args.figure,
                                         .axes = &axes,
                                         .where = &args.where,
                                         .style = style,
                                         .verb = argv[0],
                                         .force = args.force};
    if (spec_output_probe(output, &error) != GSL_SUCCESS ||
        spec_figure_draw(&request, args.csv, output, &note, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "%s", error.text);
    if (note.text[0] != '\0') spec_usage_say(argv[0], "%s", note.text);
    struct stat info;
    /* A device may be standard output itself. */
    if (stat(output, &info) == 0 && S_ISREG(info.st_mode))
        fprintf(spec_output_standard(), "%s\n", output);
    spec_figure_axes_free(&axes);
    spec_word_list_free(&args.where);
    return SPEC_EXIT_HOLDS;
}
