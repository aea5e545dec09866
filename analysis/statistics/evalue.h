/* evalue: bets against a null hypothesis whose capital may be looked at at any time: under the null the expected capital
 * never exceeds 1, so that it ever reaches 1/alpha has a chance of at most alpha [Ville39] [Grunwald24]. Capitals are
 * natural logarithms. A bet on the next counts may use everything before them and nothing of them.
 * docs/formulas.md#e-values. */
#ifndef SPECLAB_EVALUE_H
#define SPECLAB_EVALUE_H

#include <stdint.h>

/* Categorical draws of known chances: the gain of betting `next` (n) with the Dirichlet prediction that `before` (n) and
 * a prior of `weight` draws spread as `probability` (n) give,
 *
 *     gain = log [ int Dir(theta; weight probability + before) prod theta_i^next_i dtheta ] - sum_i next_i log probability_i
 *
 * which is a sum of log-gammas. A mixture over weights is the caller's (spec_evalue_mean).
 *   returns the logarithm of the factor; +inf where something impossible came; NaN outside the domain (probabilities
 *           negative or off 1 by more than 1e-9, weight <= 0). O(n). */
double spec_evalue_dirichlet(const uint64_t *next, const uint64_t *before, const double *probability, int n,
                             double weight);

/* n events of one known chance, of which `hits` came, and a bet of the fraction `lambda` of the capital on each:
 *
 *     gain = hits log(1 + lambda (1 - chance)) + (n - hits) log(1 - lambda chance)
 *
 *   lambda  in (-1/(1-chance), 1/chance); NaN outside. Negative: against the event. */
double spec_evalue_event(uint64_t hits, uint64_t n, double chance, double lambda);

/* The logarithm of the mean of exp(log_e), n >= 1; -inf among them is a bet that is lost. A mean of e-values is one. */
double spec_evalue_mean(const double *log_e, int n);

/* The anytime-valid p-value of a capital: min(1, 1/max e so far); here of one value. */
double spec_evalue_p(double log_e);

#endif
