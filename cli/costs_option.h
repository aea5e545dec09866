/* SPDX-License-Identifier: GPL-3.0-or-later */
/* costs_option: --costs FILE of plan and predict: measured times of target passes.
 * The file is a result of bench, or a CSV written by hand. */
#ifndef SPECLAB_COSTS_OPTION_H
#define SPECLAB_COSTS_OPTION_H

#include "experiments/pass_costs.h"

#include <stdbool.h>

#define SPEC_COSTS_OPTION_HELP                                                                     \
    "measured times of passes: a result of 'bench -o FILE', which also has c; a CSV with "         \
    "columns nodes and time, in target calls; or none"

/* Reads the file. Exits 2 if that fails, or if bench withheld c and the user gives none. Prints the
 * file's warning, if it has one. Without a path costs->n is 0. */
void spec_costs_option_read(spec_pass_costs *costs, const char *opt_path, bool c_is_given,
                            const char *verb);

#endif
