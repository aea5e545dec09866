/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure_style.h"

#include "base/escape.h"
#include "base/settings.h"

#include <stdlib.h>
#include <string.h>

/* Points of 1/72 inch in a pixel of the screen, a centimetre and an inch. */
#define POINTS_PX 0.75
#define POINTS_CM (72.0 / 2.54)
#define POINTS_IN 72.0

/* The smallest and the largest size of a figure, in points. */
#define POINTS_MIN 70.0
#define POINTS_MAX 7200.0

/* Figures narrower than this, in points, use the smaller font. */
#define NARROW 340.0

static const char *const terminals[] = {"svg", "png", "pdf", "tikz", NULL};
static const char *const suffixes[] = {".svg", ".png", ".pdf", ".tex", NULL};
static const char *const legends[] = {"auto", "right", "bottom", "none", NULL};

static int find(const char *const *names, const char *text)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], text) == 0) return i;
    return -1;
}

int spec_figure_style_size(spec_figure_style *style, const char *text, spec_error *error)
{
    static const struct {
        const char *name;
        double points;
    } units[] = {{"cm", POINTS_CM}, {"in", POINTS_IN}, {"px", POINTS_PX}};
    char width[32], height[32], *cross;
    snprintf(width, sizeof width, "%s", text);
    if (strlen(text) < sizeof width && (cross = strchr(width, 'x')) != NULL) {
        *cross = '\0';
        snprintf(height, sizeof height, "%s", cross + 1);
        const size_t digits = strspn(height, "0123456789.");
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            if (strcmp(height + digits, units[i].name) != 0) continue;
            height[digits] = '\0';
            const bool good = spec_settings_parse_double(&style->width, width) &&
                              spec_settings_parse_double(&style->height, height);
            style->unit = units[i].points;
            const double w = style->width * style->unit, h = style->height * style->unit;
            if (good && w >= POINTS_MIN && w <= POINTS_MAX && h >= POINTS_MIN && h <= POINTS_MAX)
                return GSL_SUCCESS;
            if (good)
                return spec_fail(error, GSL_EINVAL, "--size: '%s' is not within 2.5 and 250 cm",
                                 text);
        }
    }
    return spec_fail(
        error, GSL_EINVAL,
        "--size: '%.60s' is not a width and a height such as 8x6cm, 3x2in or 900x600px", text);
}

int spec_figure_style_font(spec_figure_style *style, const char *text, spec_error *error)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_.";
    const size_t name = strspn(text, letters);
    double size = 0.0;
    const bool sized = text[name] == ',';
    if (*text == '\0' || name >= sizeof style->font || (text[name] != '\0' && !sized) ||
        (sized &&
         !(spec_settings_parse_double(&size, text + name + 1) && size >= 1.0 && size <= 200.0)))
        return spec_fail(error, GSL_EINVAL,
                         "--font: '%.60s' is not a name of letters, digits, '-', '_' and '.', with "
                         "a size in points, "
                         "such as 'Helvetica,10'",
                         text);
    snprintf(style->font, sizeof style->font, "%.*s", (int)name, text);
    style->font_size = size;
    return GSL_SUCCESS;
}

int spec_figure_style_terminal(spec_figure_style *style, const char *text, spec_error *error)
{
    const int i = find(terminals, text);
    if (i < 0)
        return spec_fail(error, GSL_EINVAL, "--terminal: '%.60s' is not svg, png, pdf or tikz",
                         text);
    style->terminal = (spec_terminal)i;
    return GSL_SUCCESS;
}

int spec_figure_style_legend(spec_figure_style *style, const char *text, spec_error *error)
{
    const int i = find(legends, text);
    if (i < 0)
        return spec_fail(error, GSL_EINVAL, "--legend: '%.60s' is not auto, right, bottom or none",
                         text);
    style->legend = legends[i];
    return GSL_SUCCESS;
}

int spec_figure_style_ending(spec_figure_style *style, const char *path, spec_error *error)
{
    const char *ending = strrchr(path, '.');
    const int i = ending != NULL ? find(suffixes, ending) : -1;
    if (i < 0)
        return spec_fail(error, GSL_EINVAL, "%s: a figure ends in .svg, .png, .pdf or .tex", path);
    style->terminal = (spec_terminal)i;
    return GSL_SUCCESS;
}

const char *spec_figure_style_suffix(const spec_figure_style *style)
{
    return suffixes[style->terminal];
}

static double default_width(const spec_figure_style *style)
{
    return style->terminal == SPEC_TERMINAL_SVG || style->terminal == SPEC_TERMINAL_PNG
               ? 900.0 * POINTS_PX
               : 15.0 * POINTS_CM;
}

void spec_figure_style_write(FILE *out, const spec_figure_style *style, const char *title)
{
    const bool usual = style->width <= 0.0;
    const double width = usual ? default_width(style) : style->width * style->unit;
    const double height = usual ? width / 1.5 : style->height * style->unit;
    const double usual_size =
        style->terminal == SPEC_TERMINAL_SVG || style->terminal == SPEC_TERMINAL_PNG ? 10.0 : 9.0;
    const double size = style->font_size > 0.0 ? style->font_size
                        : width < NARROW       ? 8.0
                                               : usual_size;
    const char *font = style->font[0] != '\0' ? style->font : "DejaVu Sans";
    double printed = size; /* in the terminal's unit */
    switch (style->terminal) {
    case SPEC_TERMINAL_SVG:
        printed = size / POINTS_PX;
        fprintf(out,
                "set terminal svg noenhanced%s size %.0f,%.0f %s font '%s,%g' linewidth %g "
                "background rgb 'white'\n",
                style->mouse ? " mouse jsdir ''" : "", width / POINTS_PX, height / POINTS_PX,
                usual ? "dynamic" : "fixed", font, printed, 0.14 * size);
        break;
    case SPEC_TERMINAL_PNG: {
        /* A size in pixels is exact; a size on paper has 300 pixels per inch. */
        const double scale = usual || style->unit == POINTS_PX ? 1.0 : 300.0 / 96.0;
        fprintf(out,
                "set terminal pngcairo noenhanced size %.0f,%.0f font '%s,%g' fontscale %g "
                "linewidth %g pointscale %g\n",
                scale * width / POINTS_PX, scale * height / POINTS_PX, font, size, scale,
                0.14 * size * scale, scale);
        break;
    }
    case SPEC_TERMINAL_PDF: /* its fonts are 4/3 of the requested size */
        fprintf(out,
                "set terminal pdfcairo noenhanced size %.4fcm,%.4fcm font '%s,%g' fontscale 0.75 "
                "linewidth %g\n",
                width / POINTS_CM, height / POINTS_CM, font, size, 0.14 * size);
        break;
    case SPEC_TERMINAL_TIKZ:
        fprintf(out, "set terminal tikz size %.4fcm,%.4fcm%s\n", width / POINTS_CM,
                height / POINTS_CM,
                size < 8.5   ? " font '\\footnotesize'"
                : size < 9.5 ? " font '\\small'"
                             : "");
        break;
    }
    fprintf(out, "SIZE = %g; WIDTH = %g; HEIGHT = %g; TIKZ = %d; LEGEND = '%s'\n", printed,
            width / size, height / size, style->terminal == SPEC_TERMINAL_TIKZ, style->legend);
    /* Terminals differ in the size of points, the spacing of lines, and the distance between axis
     * and labels. */
    const bool svg = style->terminal == SPEC_TERMINAL_SVG;
    fprintf(out, "MARK = %g; SPACING = %g; LIFT = %g\n",
            svg || style->terminal == SPEC_TERMINAL_PDF ? 0.5 : 0.7, svg ? 0.9 : 1.15,
            svg ? 0.5 : 0.0);
    fprintf(out, "MOUSE = %d\n", style->mouse);
    fputs("TITLE = ", out);
    spec_escape_gnuplot(out, title);
    fputc('\n', out);
}
