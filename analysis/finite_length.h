/* finite_length: rounds needed for a text of L tokens, which is more than L / E[n_emitted].
 * The last round overshoots; renewal theory gives its mean. law (n) is P(n_emitted = 1..n), with law[0] for one token.
 * docs/formulas.md#finite-length. */
#ifndef SPECLAB_FINITE_LENGTH_H
#define SPECLAB_FINITE_LENGTH_H

/* Exact mean number of rounds to emit at least L tokens, by dynamic programming, O(L n). work (L+1). */
double spec_rounds_to_length(const double *law, int n, int L, double *work);

/* (L-1)/mean + (variance + mean^2 + mean) / (2 mean^2): exact up to an exponentially small term. */
double spec_rounds_to_length_renewal(double mean, double variance, double L);

#endif
