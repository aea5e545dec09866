/* SPDX-License-Identifier: GPL-3.0-or-later */
/* beta_nodes: turns a Beta law of acceptance rates into nodes with weights, by GSL's quadrature. */
#ifndef SPECLAB_TESTS_BETA_NODES_H
#define SPECLAB_TESTS_BETA_NODES_H

#include <gsl/gsl_integration.h>

enum { BETA_NODES = 48 };

/* The parameters are a = mean * concentration and b; weights sum to 1. */
static inline void beta_nodes(double *alpha, double *weight, double mean, double concentration)
{
    gsl_integration_fixed_workspace *rule =
        gsl_integration_fixed_alloc(gsl_integration_fixed_jacobi, BETA_NODES, 0.0, 1.0,
                                    (1.0 - mean) * concentration - 1.0, mean * concentration - 1.0);
    double sum = 0.0;
    for (int i = 0; i < BETA_NODES; i++) sum += gsl_integration_fixed_weights(rule)[i];
    for (int i = 0; i < BETA_NODES; i++) {
        alpha[i] = gsl_integration_fixed_nodes(rule)[i];
        weight[i] = gsl_integration_fixed_weights(rule)[i] / sum;
    }
    gsl_integration_fixed_free(rule);
}

#endif
