/* speedup: what speculation gains and costs, from alpha, K and c, under iid acceptance.
 * Times are in target calls: a round costs K draft calls of c each and one verification. NaN outside the domain (alpha in [0,1], K >= 0,
 * c >= 0). [Leviathan23] Theorems 3.8 and 3.11, Corollary 3.9, section 3.4. */
#ifndef SPECLAB_SPEEDUP_H
#define SPECLAB_SPEEDUP_H

double spec_speedup(double alpha, int K, double c);                       /* Thm 3.8 */
double spec_speedup_from_emitted(double emitted, double K, double c);     /* emitted / (K c + 1) */
double spec_speedup_bound(double alpha, double c);                        /* (1+alpha)/(1+c): Cor 3.9; what some K surely gives if alpha > c, else 1 */
double spec_ops_factor(double alpha, int K, double ops_ratio);            /* Thm 3.11; ops_ratio: draft operations per token over target's */
double spec_memory_factor(double alpha, int K);                           /* target weight and cache reads, over plain decoding: 1/E[n_emitted] */
double spec_oracle_emitted(double alpha);                                 /* 1/(1-alpha); +inf at 1 */
double spec_oracle_speedup(double alpha, double c);                       /* 1/((1-alpha) + c alpha) */

/* Best draft length. */
int spec_best_K(double alpha, double c, int K_max);                       /* the smallest maximiser over 0..K_max, by the marginal rule */
double spec_best_K_lambert(double alpha, double c);                       /* continuous optimum by Lambert W_-1; may be < 0; NaN at alpha 0 or 1, c 0 */
double spec_break_even_alpha(int K, double c);                            /* the alpha at which speed-up is 1; NaN where none in [0,1] */

/* Formulas that circulate and are not Theorem 3.8; kept to be measured against it. Each names what it forgets. */
typedef struct {
    const char *name, *formula, *mistake;
    double (*speedup)(double alpha, int K, double c);
} spec_folklore;
extern const spec_folklore spec_folklore_rules[]; /* ends with a NULL name */

#endif
