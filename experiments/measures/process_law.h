/* SPDX-License-Identifier: GPL-3.0-or-later */
/* process_law: the distribution of n_accepted for an acceptance process, in closed form.
 * K must be allowed by the process (spec_acceptance_process_check). Pure functions. */
#ifndef SPECLAB_PROCESS_LAW_H
#define SPECLAB_PROCESS_LAW_H

#include "sim/acceptance.h"

/* Returns the probability that at least k of K draft tokens are accepted; NaN for markov, which has
 * no closed form. */
double spec_process_tail(const spec_process *process, int K, int k);

/* Computes mean and variance of the tokens of a round, n_accepted + 1: from sums over the tail, or
 * for markov with analysis/modulated.h. */
int spec_process_moments(double *ret_mean, double *ret_variance, const spec_process *process,
                         int K);

#endif
