/* SPDX-License-Identifier: GPL-3.0-or-later */
/* evalue: e-values: bets against a null hypothesis whose capital may be checked at any time.
 * Under the null the expected capital never exceeds 1, so the chance that it ever reaches 1/rate is
 * at most the rate [Ville39] [Grunwald24]. Capitals are given as natural logarithms. A bet on the
 * next counts may use all earlier counts, but not the next ones.
 * docs/formulas/statistics.md#e-values. */
#ifndef SPECLAB_EVALUE_H
#define SPECLAB_EVALUE_H

#include <stdint.h>

/* Categorical draws with known chances: returns the gain of betting on `next` (n) with the
 * Dirichlet prediction from `before` (n) and a prior of `weight` draws distributed as `probability`
 * (n),
 *
 *     gain = log [ int Dir(theta; weight probability + before) prod theta_i^next_i dtheta ]
 *            - sum_i next_i log probability_i
 *
 * which is a sum of log-gammas. For a mixture over weights see spec_evalue_mean.
 *   returns the logarithm of the factor; +inf if something impossible occurred; NaN outside the
 *           domain (probabilities negative or off 1 by more than 1e-9, weight <= 0). O(n) */
double spec_evalue_dirichlet(const uint64_t *next, const uint64_t *before,
                             const double *probability, int n, double weight);

/* n events with one known chance, `hits` of which occurred: returns the gain of betting the
 * fraction `lambda` of the capital on each,
 *
 *     gain = hits log(1 + lambda (1 - chance)) + (n - hits) log(1 - lambda chance)
 *
 *   lambda  in (-1/(1-chance), 1/chance); NaN outside. Negative lambda bets against the event */
double spec_evalue_event(uint64_t hits, uint64_t n, double chance, double lambda);

/* Events whose chances p differ, and may depend on earlier events: returns
 *
 *     gain = log mean over lambda of
 *            exp(lambda excess - (exp(|lambda|) - 1 - |lambda|) variance)
 *
 * for lambda = +-2^-6 .. +-2. The bet is fair because each event minus its chance is at most 1 in
 * size [Freedman75, (1.6)].
 *   excess    events minus the sum of their chances, of any sign
 *   variance  the sum of p (1 - p), >= 0; NaN outside the domain */
double spec_evalue_events(double excess, double variance);

/* Returns the logarithm of the mean of exp(log_e), n >= 1; -inf stands for a lost bet. A mean of
 * e-values is an e-value. */
double spec_evalue_mean(const double *log_e, int n);

/* Returns the anytime-valid p-value of a capital: min(1, 1/max e so far), where log_e is the
 * logarithm of that maximum. */
double spec_evalue_p(double log_e);

#endif
