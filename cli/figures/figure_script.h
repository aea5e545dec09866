/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_script: the header comments of the figure scripts in plots/.
 * "# key: value" lines name the columns that a script reads; the line before them is its summary. A
 * script that has "# x:" and "# y:" needs no commands, because series.gp draws it. docs/formats.md
 * describes the keys. The script owns its texts. */
#ifndef SPECLAB_FIGURE_SCRIPT_H
#define SPECLAB_FIGURE_SCRIPT_H

#include "cli/figures/word_list.h"
#include "speclab/status.h"

#include <stdbool.h>

typedef enum { SPEC_FIGURE_LINES, SPEC_FIGURE_SCATTER, SPEC_FIGURE_BARS } spec_figure_kind;

/* The axes that series.gp and heat.gp draw. */
typedef struct {
    char *x, *facet, *heat; /* columns; NULL: none */
    char *x_title, *y_title; /* NULL: made from the columns */
    /* for each y, one column with half the length of its error bar, or two columns with its ends;
     * may be empty */
    spec_word_list error;
    spec_figure_kind kind;
    spec_word_list y, by;
    /* columns of y drawn only as lines; the others are then drawn only as points. May be empty */
    spec_word_list lines;
    spec_word_list labels; /* what the legend calls the columns of y; may be empty */
    bool log_x, log_y;
} spec_figure_axes;

typedef struct {
    char *name, *summary, *title,
        *from;  /* the command whose result this script draws, if no measure has the columns */
    char *text; /* the whole file */
    spec_word_list needs;    /* columns of numbers that must all be present in some row */
    spec_word_list names;    /* columns with names of panels, series or positions */
    spec_word_list may_use;  /* optional columns of numbers */
    spec_word_list may_name; /* optional columns of names */
    /* columns of numbers that distinguish rows with equal names; may be empty */
    spec_word_list row;
    spec_word_list said;   /* keys of the provenance that the script reads */
    spec_figure_axes axes; /* axes.x is NULL if the script has its own commands */
} spec_figure_script;

/* Reads plots/NAME.gp. If there is no such figure, returns GSL_EINVAL with the nearest name. */
int spec_figure_script_load(spec_figure_script *script, const char *name, spec_error *error);
void spec_figure_script_free(spec_figure_script *script);

/* Lists the names of all figures, in order. */
int spec_figure_script_list(spec_word_list *ret_names, spec_error *error);

/* Reads a file of plots/ that is not a figure, such as style.gp; the caller frees the text. */
int spec_figure_script_text(char **ret_text, const char *name, spec_error *error);

/* Lists every column that the figure requires. */
int spec_figure_script_columns(spec_word_list *ret_columns, const spec_figure_script *script);

/* Returns the end of a message about a missing column: "; measures with it: predict, acceptance",
 * or the command that writes the column. Writes into buffer (size), which it returns. */
const char *spec_figure_script_has_it(char *buffer, size_t size, const spec_figure_script *script,
                                      const char *column);

/* Parses "x", "y" or "xy". */
int spec_figure_axes_log(spec_figure_axes *axes, const char *text, spec_error *error);

/* Parses "lines", "scatter" or "bars". */
int spec_figure_axes_kind(spec_figure_axes *axes, const char *text, spec_error *error);
void spec_figure_axes_free(spec_figure_axes *axes);

#endif
