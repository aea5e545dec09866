/* SPDX-License-Identifier: GPL-3.0-or-later */
/* alpha_law: the law of the acceptance rate alpha over requests; each request keeps its own.
 * All requests have one alpha, or alpha is drawn from a Beta law or from two values. The mean over
 * requests is the given alpha. A plain record without memory. */
#ifndef SPECLAB_ALPHA_LAW_H
#define SPECLAB_ALPHA_LAW_H

#include "speclab/status.h"

#include <gsl/gsl_rng.h>

/* Nodes of _nodes: the most. */
enum { SPEC_ALPHA_NODES = 64 };

typedef struct {
    enum { SPEC_ALPHA_ONE, SPEC_ALPHA_BETA, SPEC_ALPHA_TWO } kind;
    double mean;
    double concentration; /* BETA: a = mean concentration, b = (1 - mean) concentration */
    double spread;        /* TWO: mean - spread and mean + spread, with probability 1/2 each */
} spec_alpha_law;

/* "one", "beta?concentration=5" (within [0.01, 1e6]) or "two?spread=0.2", around `alpha`. With
 * alpha 0 or 1, and with spread 0, all requests have this alpha. GSL_EINVAL or GSL_EDOM with one
 * line, and a zeroed record: also if alpha +- spread is outside [0, 1]. */
int spec_alpha_law_init(spec_alpha_law *law, const char *spec, double alpha, spec_error *error);
extern const char *const spec_alpha_law_usages[]; /* NULL-terminated lines "usage\tsummary" */

/* In [0, 1]. ONE draws no random number. */
double spec_alpha_law_draw(const spec_alpha_law *law, gsl_rng *rng);

/* The alpha below which the law has the share u, 0 < u < 1. */
double spec_alpha_law_quantile(const spec_alpha_law *law, double u);

/* The law as n nodes alpha (SPEC_ALPHA_NODES), ascending, with weights of sum 1. Exact for one and
 * two values. For Beta they are Gauss-Jacobi nodes: the mean of a polynomial in alpha of degree
 * below 2 SPEC_ALPHA_NODES is exact [Golub69]. GSL_ENOMEM. */
int spec_alpha_law_nodes(int *ret_n, double *ret_alpha, double *ret_weight,
                         const spec_alpha_law *law, spec_error *error);

#endif
