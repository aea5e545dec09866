/* SPDX-License-Identifier: GPL-3.0-or-later */
/* biased_law: the law of one token under rules that do not keep the target's law.
 * Target and draft are rows (n) that sum to 1; if the draft token was chosen, not sampled, the
 * draft row is one-hot. docs/formulas/rules.md#lossy. */
#ifndef SPECLAB_BIASED_LAW_H
#define SPECLAB_BIASED_LAW_H

#include <stdbool.h>

typedef struct {
    double accepted; /* the chance that the draft token is accepted */
    double tv; /* total variation between the target and the law of the emitted token */
} spec_biased_law;

/* Each function fills ret_law (n) with the law of the emitted token. Below, D = draft and T =
 * target.
 *
 * ensemble: accepts with chance min(1, 1-w + w T/D), and corrects as the token rule does.
 *
 *     law = w T + (1-w) D,    accepted = 1-w + w sum min(T, D),    tv = (1-w) TV(T, D) */
spec_biased_law spec_biased_law_ensemble(double *ret_law, const double *target, const double *draft,
                                         int n, double w);

/* cactus: with h(x) = min(1, T(x) + sqrt(2 delta T(x) (1 - T(x)))), accepts x with chance min(1,
 * h(x)/D(x)). If x is rejected, draws from norm((s T - D)+), where s = (1 - h(x)) / (1 - T(x)).
 * O(n^2).
 *
 *     tv = accepted - sum min(T, D)                                [HaoY26] Corollary 5 for h */
spec_biased_law spec_biased_law_cactus(double *ret_law, const double *target, const double *draft,
                                       int n, double delta);

/* single-threshold: the token rule, but x is accepted where T(x) >= s and T(x) > 0.
 *
 *     tv = accepted - sum min(T, D) = sum over T(x) >= s, T(x) > 0 of (D - T)+
 */
spec_biased_law spec_biased_law_single_threshold(double *ret_law, const double *target,
                                                 const double *draft, int n, double s);

/* relaxed: accepts a token if it is in G, which holds those of the k most probable tokens (the
 * lower id first among equals) that have T >= max T - delta. Otherwise emits the target's argmax,
 * or a sample.
 *
 *     law = D on G + (1 - D(G)) (one-hot at the argmax, or T),
 *     tv = D(G) TV(T, D given G) for samples, and half the L1 distance for the argmax */
spec_biased_law spec_biased_law_relaxed(double *ret_law, const double *target, const double *draft,
                                        int n, int k, double delta, bool argmax);

/* target-only on one draft token: accepts x with chance a(x), which is 1 if T(x) >= single and
 * T(x) > 0, and min(1, T(x)/acc) otherwise. If x is rejected, draws from T without x.
 *
 *     law = T + sum_x D(x) (a(x) - T(x)) (one-hot at x - T without x) */
spec_biased_law spec_biased_law_target_only(double *ret_law, const double *target,
                                            const double *draft, int n, double acc, double single);

/* fly: the token rule, but a rejected x with T(x) > 0 gets a second chance if the three most
 * probable tokens have an entropy of at least `entropy` nats. It is then accepted with chance
 * follow(x) (n), the chance that the token rule accepts the window after x.
 *
 *     tv = accepted - sum min(T, D) = sum_x follow(x) (D - T)+ over T(x) > 0, or 0 */
spec_biased_law spec_biased_law_fly(double *ret_law, const double *target, const double *draft,
                                    const double *follow, int n, double entropy);

/* cut-invalid: a draft token with T = 0 is removed, and the token at its position is drawn from T,
 * not from the residual R = (T - D)+ / sum (T - D)+.
 *
 *     law = T + D(T = 0) (T - R),    accepted = sum min(T, D),    tv = D(T = 0) TV(T, R) */
spec_biased_law spec_biased_law_cut_invalid(double *ret_law, const double *target,
                                            const double *draft, int n);

#endif
