/* SPDX-License-Identifier: GPL-3.0-or-later */
/* process_law: the law of n_accepted of an acceptance process, in closed form.
 * K is one that the process allows (spec_acceptance_process_check). Pure functions. */
#ifndef SPECLAB_PROCESS_LAW_H
#define SPECLAB_PROCESS_LAW_H

#include "sim/acceptance.h"

/* The chance that at least k of K draft tokens are accepted; NaN without a closed form: markov. */
double spec_process_tail(const spec_process *process, int K, int k);

/* Mean and variance of the tokens of a round, n_accepted + 1: sums over the tail, and those of
 * analysis/modulated.h for markov. */
int spec_process_moments(double *ret_mean, double *ret_variance, const spec_process *process,
                         int K);

#endif
