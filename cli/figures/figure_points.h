/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_points: the panel, series and place of each row in a custom figure.
 * The first of the columns that distinguish series is the colour, the others the style. Columns
 * with one value go into the title. Borrows data and axes; owns its points and names. */
#ifndef SPECLAB_FIGURE_POINTS_H
#define SPECLAB_FIGURE_POINTS_H

#include "cli/figures/figure_data.h"
#include "cli/figures/figure_script.h"

/* The largest numbers of panels, of series, and of names along an axis. */
enum { SPEC_FIGURE_PANELS_MAX = 25, SPEC_FIGURE_SERIES_MAX = 64, SPEC_FIGURE_NAMES_MAX = 60 };

typedef struct {
    int panel, colour, style,
        series; /* from 0; series numbers the pairs of colour and style in order */
    int y;      /* index of the y column */
    double at, value, low, high, theory; /* NaN: none */
    bool after_gap; /* a row between the previous point and this one has no value */
    size_t row;
} spec_figure_point;

typedef struct {
    const spec_figure_column
        *at;       /* the axis along which series run; its levels are names if it holds texts */
    bool names;    /* the axis lists names instead of a scale */
    bool sideways; /* that axis is the vertical one */
    int n_values;
    const spec_figure_column **value; /* (n_values) */
    bool *line, *dots;                /* (n_values) drawn as a line, as points */
    bool has_bars, has_low_high, has_theory;
    bool has_error;           /* the error bars come from --error */
    spec_figure_point *point; /* (n) ordered by panel, series and place */
    size_t n;
    int n_panels, n_colours, n_styles, n_series;
    char **panel, **colour, **style; /* names of panels, colours and styles */
    bool numbers;                    /* colours are numbers in ascending order */
    spec_word_list constant;         /* "c = 0.1" for every column with one value */
} spec_figure_points;

/* Returns GSL_EINVAL if a column is missing or of the wrong kind, no row has numbers, or there are
 * too many panels or series. */
int spec_figure_points_init(spec_figure_points *points, spec_figure_data *data,
                            const spec_figure_axes *axes, spec_error *error);
void spec_figure_points_free(spec_figure_points *points);

#endif
