/* SPDX-License-Identifier: GPL-3.0-or-later */
/* grid_verb: verbs that run one measure over a grid: predict, sweep, prove, accept, plan.
 * The verb gives a text for each axis (or none), in the order of the result's columns. _run builds
 * the experiment and runs it. */
#ifndef SPECLAB_GRID_VERB_H
#define SPECLAB_GRID_VERB_H

#include "cli/options.h"

/* How the values of an axis are written: a list of numbers, names separated by commas, or texts
 * separated by newlines. If the values differ from what the user typed, _MADE has the values, one
 * per line, and _ASKED has what the user typed, for the provenance. These are "" if the option
 * takes no value. _MADE axes are zipped: a point takes line i of each. */
typedef enum {
    SPEC_AXIS_NUMBERS,
    SPEC_AXIS_NAMES,
    SPEC_AXIS_LINES,
    SPEC_AXIS_MADE,
    SPEC_AXIS_ASKED
} spec_axis_kind;

typedef struct {
    const char *name; /* name of the parameter; its option has - for _ */
    spec_axis_kind kind;
    const char *value; /* given or the default; NULL leaves the axis out */
} spec_verb_axis;

typedef struct {
    const char *verb;    /* "speclab sweep" */
    const char *measure;
    const spec_verb_axis *axis;
    int n_axes;
    /* pairs of a parameter and its option, if their names differ, then NULL; or NULL */
    const char *const *option;
    const char *show;    /* the result's columns, comma-separated; NULL: parameters, then results */
    const char *figure;  /* plots/NAME.gp, or NULL */
    uint64_t rounds;
    double standard_error;
    uint64_t limit;
    /* what the verb itself assumes; what the measure assumes comes after it */
    spec_assumed assumed;
    const char *what;    /* as in spec_options_plan, or NULL */
    int (*after)(const spec_table *table, const char *verb); /* as in spec_options_plan */
} spec_grid_verb;

int spec_grid_verb_run(const spec_grid_verb *verb, const spec_options *options);

#endif
