/* SPDX-License-Identifier: GPL-3.0-or-later */
/* alpha_law: the distribution of the acceptance rate alpha over requests.
 * Each request keeps its alpha. Either all requests have the same alpha, or each draws one from a
 * Beta distribution or from two values. The mean over requests is the given alpha. A plain record
 * without memory. */
#ifndef SPECLAB_ALPHA_LAW_H
#define SPECLAB_ALPHA_LAW_H

#include "speclab/status.h"

#include <gsl/gsl_rng.h>

/* The largest number of nodes that spec_alpha_law_nodes returns. */
enum { SPEC_ALPHA_NODES = 64 };

typedef struct {
    enum { SPEC_ALPHA_ONE, SPEC_ALPHA_BETA, SPEC_ALPHA_TWO } kind;
    double mean;
    double concentration; /* BETA: a = mean concentration, b = (1 - mean) concentration */
    double spread;        /* TWO: mean - spread and mean + spread, with probability 1/2 each */
} spec_alpha_law;

/* Reads "one", "beta?concentration=5" (within [0.01, 1e6]) or "two?spread=0.2", around `alpha`. If
 * alpha is 0 or 1, or spread is 0, all requests have this alpha. On failure, also if alpha +-
 * spread is outside [0, 1], returns GSL_EINVAL or GSL_EDOM with a message of one line, and zeroes
 * the record. */
int spec_alpha_law_init(spec_alpha_law *law, const char *spec, double alpha, spec_error *error);
extern const char *const spec_alpha_law_usages[]; /* NULL-terminated lines "usage\tsummary" */

/* Draws an alpha in [0, 1]. ONE uses no random number. */
double spec_alpha_law_draw(const spec_alpha_law *law, gsl_rng *rng);

/* Returns the u-quantile of alpha, 0 < u < 1. */
double spec_alpha_law_quantile(const spec_alpha_law *law, double u);

/* Replaces the distribution by n nodes alpha (SPEC_ALPHA_NODES), ascending, with weights that sum
 * to 1. This is exact for one and two values. For Beta they are Gauss-Jacobi nodes, so the mean of
 * any polynomial in alpha of degree below 2 SPEC_ALPHA_NODES is exact [Golub69]. Returns
 * GSL_SUCCESS or GSL_ENOMEM. */
int spec_alpha_law_nodes(int *ret_n, double *ret_alpha, double *ret_weight,
                         const spec_alpha_law *law, spec_error *error);

#endif
