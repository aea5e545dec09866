/* capped_geometric: the law of n_accepted when every draft token is accepted with the same chance, independently.
 * P(n_accepted = k) = alpha^k (1-alpha) for k < K, alpha^K for k = K; n_emitted = n_accepted + 1.
 * NaN outside 0 <= alpha <= 1, K >= 0. [Leviathan23] section 3.1; docs/formulas.md#capped-geometric. */
#ifndef SPECLAB_CAPPED_GEOMETRIC_H
#define SPECLAB_CAPPED_GEOMETRIC_H

double spec_capped_geometric_probability(double alpha, int K, int k);     /* P(n_accepted = k); 0 for k outside 0..K */
double spec_capped_geometric_tail(double alpha, int K, int k);            /* P(n_accepted >= k) */
double spec_capped_geometric_mean(double alpha, int K);                   /* E[n_emitted], Eq. (1) */
double spec_capped_geometric_variance(double alpha, int K);               /* Var[n_emitted] = Var[n_accepted] */
double spec_capped_geometric_pgf(double alpha, int K, double z);          /* E[z^n_accepted], |z| <= 1/alpha or any finite z */

/* The same for acceptance chances a[0..K-1] that depend on the position alone. */
double spec_positional_mean(const double *a, int K);
double spec_positional_variance(const double *a, int K);

#endif
