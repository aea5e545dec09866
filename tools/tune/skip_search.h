/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skip_search: searches for the set of sublayers whose value is largest.
 * It uses Bayesian optimisation [Zhang24], random sets, or every set. A set is an array of bytes
 * (sublayers), 1 for a sublayer that is skipped; some are skipped and some run. */
#ifndef SPECLAB_SKIP_SEARCH_H
#define SPECLAB_SKIP_SEARCH_H

#include "speclab/status.h"

#include <stdint.h>

typedef enum { SPEC_SKIP_BAYES, SPEC_SKIP_RANDOM, SPEC_SKIP_EXHAUSTIVE } spec_skip_method;
extern const char *const spec_skip_methods[]; /* "bayes", "random", "exhaustive", NULL */

/* Maximum sublayers for an exhaustive search of 2^n - 2 sets, and maximum trials of any other. */
enum { SPEC_SKIP_EXHAUSTIVE_MAX = 16, SPEC_SKIP_TRIALS_MAX = 1000 };

typedef struct {
    int sublayers; /* >= 2 */
    int trials;    /* 1..SPEC_SKIP_TRIALS_MAX; not for an exhaustive search */
    uint64_t seed;
    /* Computes the finite value of a set; a failure ends the search. */
    int (*value)(void *self, double *ret_value, const unsigned char *set, spec_error *error);
    void *self;
} spec_skip_search;

/* The sets in the order in which they were tried. */
typedef struct {
    int n;
    unsigned char *set; /* (n, sublayers), distinct */
    double *value;      /* (n) */
} spec_skip_trials;

/* Runs a search. Random: the number of skipped sublayers is uniform on 1..sublayers - 1, and all
 * sets of this size are equally likely. Bayes: after ten random sets, each set maximises the
 * expected improvement under a Gaussian process (analysis/gaussian_process.h). To find that set, it
 * starts from random sets and from those that differ from the best ones in one sublayer, and then
 * changes one sublayer at a time. For a given seed both kinds begin with the same sets; both end
 * early if a thousand random sets in a row have all been tried before. Returns GSL_ENOMEM,
 * GSL_EINVAL for an exhaustive search of too many sublayers, or the failure of `value`. */
int spec_skip_search_run(spec_skip_trials *ret_trials, spec_skip_method method,
                         const spec_skip_search *search, spec_error *error);
/* Returns the maximum number of sets that a search tries; an exhaustive search must be possible. */
int spec_skip_search_most(spec_skip_method method, const spec_skip_search *search);
void spec_skip_trials_free(spec_skip_trials *trials); /* may be zeroed */

#endif
