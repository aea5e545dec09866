/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_points: which panel, series and position each row has in a custom figure.
 * Of the columns that distinguish series, the first decides the colour and the others the style.
 * Columns with only one value go into the title. Borrows data and axes; owns its points and
 * names. */
#ifndef SPECLAB_FIGURE_POINTS_H
#define SPECLAB_FIGURE_POINTS_H

#include "cli/figures/figure_data.h"
#include "cli/figures/figure_script.h"

/* Maximum panels, series, and names along an axis. */
enum { SPEC_FIGURE_PANELS_MAX = 25, SPEC_FIGURE_SERIES_MAX = 64, SPEC_FIGURE_NAMES_MAX = 60 };

typedef struct {
    int panel, colour, style,
        series; /* from 0; `series` numbers the pairs of colour and style in order */
    int y;      /* index of the y column */
    double at, value, low, high, theory; /* NaN: none */
    bool after_gap; /* between the previous point and this one, some row has no value */
    size_t row;
} spec_figure_point;

typedef struct {
    const spec_figure_column
        *at;       /* the axis that series run along; if it has texts, its levels are names */
    bool names;    /* the axis lists names; it has no scale */
    bool sideways; /* this axis is the vertical one */
    int n_values;
    const spec_figure_column **value; /* (n_values) */
    /* (n_values) whether the column is drawn as a line, and as points */
    bool *line, *dots;
    bool has_bars, has_low_high, has_theory;
    bool has_error;           /* the error bars come from --error */
    spec_figure_point *point; /* (n) ordered by panel, series and position */
    size_t n;
    int n_panels, n_colours, n_styles, n_series;
    char **panel, **colour, **style; /* names of panels, colours and styles */
    bool numbers;                    /* colours are numbers in ascending order */
    spec_word_list constant;         /* "c = 0.1" for every column with one value */
} spec_figure_points;

/* Returns GSL_EINVAL if a column is missing or has the wrong kind, if no row has numbers, or if
 * there are too many panels or series. */
int spec_figure_points_init(spec_figure_points *points, spec_figure_data *data,
                            const spec_figure_axes *axes, spec_error *error);
void spec_figure_points_free(spec_figure_points *points);

#endif
