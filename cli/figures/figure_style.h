/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_style: title, size, font, terminal and legend of a figure.
 * Options are checked when they are parsed; only checked text reaches gnuplot. */
#ifndef SPECLAB_FIGURE_STYLE_H
#define SPECLAB_FIGURE_STYLE_H

#include "speclab/status.h"

#include <stdbool.h>

typedef enum {
    SPEC_TERMINAL_SVG,
    SPEC_TERMINAL_PNG,
    SPEC_TERMINAL_PDF,
    SPEC_TERMINAL_TIKZ
} spec_terminal;

typedef struct {
    const char *title; /* NULL: made from the data; "": no title */
    spec_terminal terminal;
    double width, height; /* in units; 0: the terminal's usual size */
    double unit;          /* points (1/72 inch) in a unit */
    char font[64];        /* "": DejaVu Sans and its fallbacks */
    double font_size;     /* in points; 0: depends on the width */
    const char *legend;   /* "auto", "right", "bottom" or "none" */
    /* the SVG has a script that shows the numbers of the point under the mouse */
    bool mouse;
} spec_figure_style;

#define SPEC_FIGURE_STYLE_DEFAULT ((spec_figure_style){.legend = "auto", .unit = 0.75})

/* Parse an option's text. If it is wrong, they return GSL_EINVAL and say which form is allowed. */
int spec_figure_style_size(spec_figure_style *style, const char *text,
                           spec_error *error); /* "8x6cm", in, px */
int spec_figure_style_font(spec_figure_style *style, const char *text,
                           spec_error *error); /* "Helvetica,10" */
int spec_figure_style_terminal(spec_figure_style *style, const char *text,
                               spec_error *error); /* "svg" */
int spec_figure_style_legend(spec_figure_style *style, const char *text, spec_error *error);

/* Sets the terminal for a file's ending: .svg, .png, .pdf or .tex. */
int spec_figure_style_ending(spec_figure_style *style, const char *path, spec_error *error);
const char *spec_figure_style_suffix(const spec_figure_style *style); /* ".svg" */

/* Writes the commands that open the terminal, and the variables of style.gp: the size of the font,
 * the figure's width and height in em, and the title. */
void spec_figure_style_write(FILE *out, const spec_figure_style *style, const char *title);

#endif
