/* grid_verb: a verb whose arguments make a grid, which one measure runs: predict, sweep, prove, accept.
 * The verb gathers text for each axis (or none), in the order the result's columns shall have; _run builds the
 * experiment and runs it. */
#ifndef SPECLAB_GRID_VERB_H
#define SPECLAB_GRID_VERB_H

#include "cli/options.h"

/* A value is a list of numbers, names separated by commas, or texts separated by line ends. Where the user's words are
 * not the axis's values, _MADE is the axis, in lines, and _ASKED the user's words, which go into the provenance. Axes
 * that are made go together: a point has line i of each. */
typedef enum { SPEC_AXIS_NUMBERS, SPEC_AXIS_NAMES, SPEC_AXIS_LINES, SPEC_AXIS_MADE, SPEC_AXIS_ASKED } spec_axis_kind;

typedef struct {
    const char *name;  /* of the parameter, and of the option that gives it (with - for _) */
    spec_axis_kind kind;
    const char *value; /* what the user gave or the default; NULL leaves the axis out */
} spec_verb_axis;

typedef struct {
    const char *verb;    /* "speclab sweep" */
    const char *measure;
    const spec_verb_axis *axis;
    int n_axes;
    const char *const *option; /* pairs: a parameter, and its option of another name; ends with NULL. Or NULL */
    const char *show;    /* the result's columns, comma-separated; NULL: parameters, then results */
    const char *figure;  /* plots/NAME.gp, or NULL */
    uint64_t rounds;
    double standard_error;
    uint64_t limit;
    bool resume;
} spec_grid_verb;

int spec_grid_verb_run(const spec_grid_verb *verb, const spec_options *options);

#endif
