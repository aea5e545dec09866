/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cascade: tokens and cost of a hierarchy of models, each of which drafts for the one before it.
 * Model 0 is the target. A round of level i is `rounds[i]` rounds of level i + 1, all of whose
 * tokens are drafts, and one pass of model i; a round of the last level is one pass, with one
 * token. Acceptance is iid (A1), and independent between levels. docs/formulas/lengths.md#cascade.
 */
#ifndef SPECLAB_CASCADE_H
#define SPECLAB_CASCADE_H

typedef struct {
    int n;               /* models, >= 1 */
    const double *alpha; /* (n-1) acceptance of a token of model i + 1 by model i, in [0,1] */
    const double *cost;  /* (n) time of a pass, in passes of the target: cost[0] = 1 */
    const int *rounds;   /* (n-1) >= 0 */
} spec_cascade;

/* Returns the expected tokens of a round of the target.
 *
 *     E[T] = (1 - alpha_0 H_0(alpha_0)) / (1 - alpha_0),   H_i(z) = G_{i+1}(z)^rounds_i
 *     G_i(z) = z ((1 - alpha_i) (1 - H_i(alpha_i z)) / (1 - alpha_i z) + H_i(alpha_i z))
 *
 * and G_{n-1}(z) = z. With two models this is spec_capped_geometric_mean. At alpha = 1 it is the
 * limit. Checked by: the distribution of the tokens, convolved. */
double spec_cascade_emitted(const spec_cascade *cascade);

/* Returns the expected time of a round of the target: C_i = cost_i + rounds_i C_{i+1}. */
double spec_cascade_cost(const spec_cascade *cascade);

/* Fills ret_rounds (n-1) with the numbers of rounds, each from 1 to `most`, that give the most
 * tokens per unit of time, and returns that speed-up. Tries all of them: most^(n-1) steps. */
double spec_cascade_best(int *ret_rounds, int n, const double *alpha, const double *cost, int most);

#endif
