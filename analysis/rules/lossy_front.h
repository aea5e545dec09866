/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lossy_front: the most that any rule, lossless or not, can keep of a chain of K draft tokens.
 * The budget is how far, in total variation, the distribution of the first K emitted tokens may be
 * from the target's. docs/formulas/rules.md#lossy-front. */
#ifndef SPECLAB_LOSSY_FRONT_H
#define SPECLAB_LOSSY_FRONT_H

#include <stddef.h>

/* Fills ret_tv (K) with the total variation of the first 1, .., K tokens of two laws of K tokens
 * (V^K), whose first token is the most significant digit. Merges them in place, so target and draft
 * are overwritten. */
void spec_lossy_front_depths(double *ret_tv, double *target, double *draft, int V, int K);

/* Returns the most that a rule can keep, E[n_accepted], within a budget >= 0.
 *
 *     most = K - sum_i (tv_i - budget)+
 *
 *   tv (K)  as above; it never decreases
 * Budget 0 gives what the best lossless rule keeps, budget tv_K gives K. Attained by the rule
 * `pardon`. Checked by: enumeration of all rules; a search among output laws. */
double spec_lossy_front_accepted(const double *tv, int K, double budget);

/* Returns the inverse, the least total variation at which a rule can keep `accepted` tokens. 0 if a
 * lossless rule can; tv_K from K on. */
double spec_lossy_front_tv(const double *tv, int K, double accepted);

#endif
