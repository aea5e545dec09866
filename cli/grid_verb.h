/* SPDX-License-Identifier: GPL-3.0-or-later */
/* grid_verb: verbs that run one measure over a grid: predict, sweep, prove, accept, plan.
 * The axes of the grid are the verb's fields that have a value, in the order of the result's
 * columns, then further ones. _run builds the experiment and runs it. */
#ifndef SPECLAB_GRID_VERB_H
#define SPECLAB_GRID_VERB_H

#include "cli/fields.h"
#include "cli/options.h"

enum { SPEC_VERB_PARAMETER_SIZE = 32 };

typedef struct {
    char name[SPEC_VERB_PARAMETER_SIZE]; /* of the parameter */
    spec_axis_kind kind;
    const char *value; /* given or the default; "" for a flag; NULL leaves the axis out */
} spec_verb_axis;

typedef struct {
    const char *verb; /* "speclab sweep" */
    const char *measure;
    const spec_field *fields;
    const void *arguments;      /* what the fields point into */
    const spec_verb_axis *axis; /* further axes */
    int n_axes;
    /* pairs of a parameter and the option that now gives it, then NULL; or NULL */
    const char *const *option;
    const char *show;   /* the result's columns, comma-separated; NULL: parameters, then results */
    const char *figure; /* plots/NAME.gp, or NULL */
    uint64_t rounds;
    double standard_error;
    uint64_t limit;
    /* what the verb itself assumes; what the measure assumes comes after it */
    spec_assumed assumed;
    const char *what;                                        /* as in spec_options_plan, or NULL */
    int (*after)(const spec_table *table, const char *verb); /* as in spec_options_plan */
} spec_grid_verb;

int spec_grid_verb_run(const spec_grid_verb *verb, const spec_options *options);

#endif
