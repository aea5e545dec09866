/* SPDX-License-Identifier: GPL-3.0-or-later */
/* process_law: the law of n_accepted of an acceptance process, in closed form.
 * K must be one that the process allows (spec_acceptance_process_check). Pure functions. */
#ifndef SPECLAB_PROCESS_LAW_H
#define SPECLAB_PROCESS_LAW_H

#include "sim/acceptance.h"

/* Returns the chance that at least k of K draft tokens are accepted; NaN without a closed form:
 * markov. */
double spec_process_tail(const spec_process *process, int K, int k);

/* Computes mean and variance of the tokens of a round, n_accepted + 1: sums over the tail, or for
 * markov those of analysis/modulated.h. */
int spec_process_moments(double *ret_mean, double *ret_variance, const spec_process *process,
                         int K);

#endif
