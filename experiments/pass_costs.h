/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pass_costs: how long a pass of the target takes, by its number of tokens, read from a file.
 * The file is a result of `bench`, or a table with columns nodes and time (docs/formats.md#costs).
 * Times are in target calls: a pass of one token takes 1. Owns its points. */
#ifndef SPECLAB_PASS_COSTS_H
#define SPECLAB_PASS_COSTS_H

#include "experiments/measures/measure.h"

typedef struct {
    int n;        /* points; the first is a pass of one token */
    int *width;   /* (n) tokens per pass, ascending */
    double *time; /* (n) */
    bool of_bench;
    double c, alpha;   /* as measured by bench; NaN: unknown */
    char warning[512]; /* what is doubtful about a measurement, or "" */
} spec_pass_costs;

/* Reads the columns `nodes`, ascending, and `time`, in plain target calls: a pass of nodes + 1
 * tokens takes `time`, and at 0 nodes it takes 1. From a result of bench it reads the passes whose
 * ratio is reported. The path "none" gives costs->n = 0. Returns GSL_EINVAL for times <= 0, nodes
 * that do not ascend, a row for 0 that is not 1, a last line without a newline, and otherwise as
 * spec_timing_result_init. Zeroed on failure. */
int spec_pass_costs_read(spec_pass_costs *costs, const char *path, spec_error *error);
void spec_pass_costs_free(spec_pass_costs *costs);

/* Returns the time of a pass of `width` tokens, linear between the points; NaN beyond the
 * widest. */
double spec_pass_costs_time(const spec_pass_costs *costs, int width);

/* Reads the pass costs in a point's parameter `costs`, and its c. Without `costs`, costs->n is 0. c
 * is taken from the point's grid if it is there, else from the result of bench, else it is the
 * measure's default. Failures begin with the parameter at fault. Returns GSL_EINVAL if bench
 * withheld c and none is given. */
int spec_pass_costs_of_point(spec_pass_costs *costs, double *ret_c, const spec_point *point,
                             const spec_measure *measure, spec_error *error);

#endif
