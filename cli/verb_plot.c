/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure.h"
#include "cli/output.h"
#include "cli/verb.h"

#include "cli/usage.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    KEY_X = 0x7001,
    KEY_Y,
    KEY_BY,
    KEY_FACET,
    KEY_HEAT,
    KEY_LOG,
    KEY_KIND,
    KEY_ERROR,
    KEY_XLABEL,
    KEY_YLABEL,
    KEY_WHERE,
    KEY_TITLE,
    KEY_NO_TITLE,
    KEY_SIZE,
    KEY_FONT,
    KEY_TERMINAL,
    KEY_LEGEND,
    KEY_FORCE
};

static const struct argp_option options_table[] = {
    {"output", 'o', "FILE", 0, "the figure file: .svg, .png, .pdf or .tex (FILE.svg)", 1},
    {"figure", 'F', "NAME", 0,
     "draw this one of 'speclab list figures' (the one that the result names)", 1},
    {"force", KEY_FORCE, NULL, 0,
     "overwrite the figure file; without --force an older file that differs is kept as FILE.bak",
     1},
    {0, 0, 0, 0, "A custom figure, from any CSV with a header line:", 2},
    {"x", KEY_X, "COLUMN", 0, "column of the horizontal axis: numbers or names", 2},
    {"y", KEY_Y, "COLUMN,...", 0,
     "columns of the vertical axis; error bars come from Y_se (two standard errors) or Y_low and "
     "Y_high, a line from Y_theory",
     2},
    {"kind", KEY_KIND, "KIND", 0, "lines, scatter or bars (lines)", 2},
    {"error", KEY_ERROR, "COLUMN,...", 0,
     "error bars: a column for each of --y, added and subtracted, or two with the ends of the bar",
     2},
    {"by", KEY_BY, "COLUMN,...", 0, "one series per value", 2},
    {"facet", KEY_FACET, "COLUMN", 0, "one panel per value", 2},
    {"heat", KEY_HEAT, "COLUMN", 0, "a heat map: this column as colour over x and y", 2},
    {"log", KEY_LOG, "x|y|xy", 0, "logarithmic axes", 2},
    {"where", KEY_WHERE, "COLUMN=VALUE,...", SPEC_OPTION_REPEATS,
     "only rows with one of these values; may be repeated: for another column, or for a value "
     "with a comma",
     2},
    {0, 0, 0, 0, "Appearance:", 3},
    {"title", KEY_TITLE, "TEXT", 0, "the title (made from the data)", 3},
    {"xlabel", KEY_XLABEL, "TEXT", 0, "the title of the horizontal axis (from its column)", 3},
    {"ylabel", KEY_YLABEL, "TEXT", 0, "the title of the vertical axis (from its columns)", 3},
    {"no-title", KEY_NO_TITLE, NULL, 0, "no title", 3},
    {"size", KEY_SIZE, "WIDTHxHEIGHT", 0,
     "the size, such as 8x6cm, 3x2in or 900x600px (900x600px; pdf, tikz: 15x10cm)", 3},
    {"font", KEY_FONT, "NAME,SIZE", 0,
     "font and size in points (DejaVu Sans, 8 to 10 depending on the width)", 3},
    {"terminal", KEY_TERMINAL, "NAME", 0,
     "file format: svg, png, pdf or tikz (for LaTeX) (from the ending of -o)", 3},
    {"legend", KEY_LEGEND, "PLACE", 0, "position of the legend: right, bottom, none or auto (auto)",
     3},
    {0},
};

typedef struct {
    const char *csv, *output;
    spec_figure_request request;
    spec_figure_axes axes;
    spec_word_list where;
    bool terminal_given;
} arguments;

static void take_text(char **text, const char *arg, const char *verb)
{
    free(*text);
    if ((*text = strdup(arg)) == NULL) spec_usage_no_memory(verb);
}

static void take(char **text, const char *arg, const char *option, const char *verb)
{
    if (*arg == '\0') spec_usage_fail(verb, "--%s: the column has no name", option);
    take_text(text, arg, verb);
}

static void take_list(spec_word_list *list, const char *arg, const char *option, const char *verb)
{
    spec_word_list_free(list);
    if (arg[strspn(arg, ", ")] == '\0')
        spec_usage_fail(verb, "--%s: '%s' names no column", option, arg);
    if (spec_word_list_add(list, arg) != GSL_SUCCESS) spec_usage_no_memory(verb);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    spec_figure_style *style = &args->request.style;
    const char *verb = state->name;
    spec_error error = {{0}};
    int status = GSL_SUCCESS;
    switch (key) {
    case 'o': args->output = arg; return 0;
    case 'F': args->request.opt_name = arg; return 0;
    case KEY_X: take(&args->axes.x, arg, "x", verb); return 0;
    case KEY_Y: take_list(&args->axes.y, arg, "y", verb); return 0;
    case KEY_BY: take_list(&args->axes.by, arg, "by", verb); return 0;
    case KEY_FACET: take(&args->axes.facet, arg, "facet", verb); return 0;
    case KEY_HEAT: take(&args->axes.heat, arg, "heat", verb); return 0;
    case KEY_WHERE:
        if (spec_word_list_add(&args->where, arg) != GSL_SUCCESS) spec_usage_no_memory(verb);
        return 0;
    case KEY_ERROR: take_list(&args->axes.error, arg, "error", verb); return 0;
    case KEY_XLABEL: take_text(&args->axes.x_title, arg, verb); return 0;
    case KEY_YLABEL: take_text(&args->axes.y_title, arg, verb); return 0;
    case KEY_FORCE: args->request.force = true; return 0;
    case KEY_TITLE: style->title = arg; return 0;
    case KEY_NO_TITLE: style->title = ""; return 0;
    case KEY_LOG: status = spec_figure_axes_log(&args->axes, arg, &error); break;
    case KEY_KIND: status = spec_figure_axes_kind(&args->axes, arg, &error); break;
    case KEY_SIZE: status = spec_figure_style_size(style, arg, &error); break;
    case KEY_FONT: status = spec_figure_style_font(style, arg, &error); break;
    case KEY_LEGEND: status = spec_figure_style_legend(style, arg, &error); break;
    case KEY_TERMINAL:
        status = spec_figure_style_terminal(style, arg, &error);
        args->terminal_given = true;
        break;
    case ARGP_KEY_ARG:
        if (args->csv != NULL)
            spec_usage_fail(verb, "'%s' is a second file; give only one CSV file", arg);
        args->csv = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        spec_usage_fail(verb, "no CSV file is given; 'speclab run -o FILE.csv' writes one");
    default: return ARGP_ERR_UNKNOWN;
    }
    if (status != GSL_SUCCESS) spec_usage_fail(verb, "%s", error.text);
    return 0;
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

int spec_verb_plot(spec_context *context, int argc, char **argv)
{
    static const struct argp_child children[] = {{&spec_usage_argp, 0, NULL, 0}, {0}};
    (void)context;
    static const struct argp argp = {
        options_table,
        parse,
        "FILE.csv",
        "draw the figure of a result, or of any CSV\vA result names its figure in its # lines; "
        "'speclab list figures' shows all figures and the columns that they need. For other files "
        "the columns are chosen, and a line says which. A file is CSV with commas, semicolons or "
        "tabs between its fields, or JSON. Error bars are two standard errors; a line is theory. "
        "The title says if a run was interrupted.\n"
        "\n"
        "  $ speclab plot sweep.csv\n"
        "  $ speclab plot sweep.csv --x K --y speedup --by alpha --where c=0.1\n"
        "  $ speclab plot mine.csv --x n --y ms --facet gpu --log xy -o mine.pdf\n"
        "  $ speclab plot mine.csv --x gpu --y ms --error std --kind bars --ylabel 'Time (ms)'\n"
        "  $ speclab plot sweep.csv --x alpha --y K --heat speedup --size 8x6cm",
        children,
        NULL,
        NULL};
    arguments args = {.request = {.style = SPEC_FIGURE_STYLE_DEFAULT}};
    spec_usage_parse(&argp, argc, argv, &args);
    args.request.axes = &args.axes;
    args.request.where = &args.where;
    args.request.verb = argv[0];
    spec_figure_style *style = &args.request.style;

    spec_error error = {{0}};
    spec_figure_note note;
    char output[PATH_MAX];
    default_output(output, sizeof output, args.csv, spec_figure_style_suffix(style));
    if (args.output != NULL) snprintf(output, sizeof output, "%s", args.output);
    if (!args.terminal_given && spec_figure_style_ending(style, output, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "-o %s; or choose with --terminal", error.text);
    if (style->terminal == SPEC_TERMINAL_TIKZ && style->font[0] != '\0')
        spec_usage_fail(
            argv[0],
            "--font %s: LaTeX chooses the font of a tikz picture; --font ,8 sets only the size",
            style->font);
    if (spec_output_probe(output, &error) != GSL_SUCCESS ||
        spec_figure_draw(&args.request, args.csv, output, &note, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "%s", error.text);
    if (note.text[0] != '\0') spec_usage_say(argv[0], "%s", note.text);
    struct stat info;
    /* A device may be standard output itself. */
    if (stat(output, &info) == 0 && S_ISREG(info.st_mode))
        fprintf(spec_output_standard(), "%s\n", output);
    spec_figure_axes_free(&args.axes);
    spec_word_list_free(&args.where);
    return SPEC_EXIT_HOLDS;
}
