/* SPDX-License-Identifier: GPL-3.0-or-later */
/* process_option: --process SPEC of predict, sweep and serve: how draft tokens are accepted.
 * A process with a rate for each depth, such as a profile, has no alpha, and K is at most its
 * number of rates. */
#ifndef SPECLAB_PROCESS_OPTION_H
#define SPECLAB_PROCESS_OPTION_H

#include <stdbool.h>

typedef struct {
    bool lacks_alpha;
    int n_rates; /* the longest draft that the process covers; 0: no limit */
    /* the default of --K; it leaves out lengths that the process does not cover */
    char K[16];
} spec_process_option;

/* Reads the option. Exits 2 if --alpha is given with a process that has no alpha. A wrong spec
 * counts as iid here; the measure will say what is wrong with it. `from` is the first of the
 * lengths. */
spec_process_option spec_process_option_of(const char *opt_spec, const char *opt_alpha, int from,
                                           const char *verb);

#endif
