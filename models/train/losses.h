/* SPDX-License-Identifier: GPL-3.0-or-later */
/* losses: how far a draft's row is from the target's, and its gradient in the draft's logits.
 * These are the losses used to distil drafts [Agarwal23] [Zhou23]; formulas in
 * docs/formulas/models.md#losses. Pure arithmetic, in double. */
#ifndef SPECLAB_LOSSES_H
#define SPECLAB_LOSSES_H

/* Notation: draft row q, target row p, m = (p + q) / 2 and alpha = sum_i min(p_i, q_i), the
 * acceptance probability of the token rule: */
typedef enum {
    SPEC_LOSSES_CE,  /* cross-entropy of a token of the text: the forward divergence, p one-hot */
    SPEC_LOSSES_FKL, /* forward divergence KL(p||q) */
    SPEC_LOSSES_RKL, /* reverse divergence KL(q||p) */
    SPEC_LOSSES_JSD, /* KL(p||m) / 2 + KL(q||m) / 2, at most log 2 */
    SPEC_LOSSES_TV,  /* 1 - alpha */
    SPEC_LOSSES_NLA, /* -log alpha */
    SPEC_LOSSES_LK,  /* w KL(p||q) + (1 - w) (1 - alpha); w = exp(-3 alpha), a constant factor in
                        the gradient */
    SPEC_LOSSES_KINDS
} spec_losses_kind;

extern const char *const spec_losses_names[]; /* "ce", "fkl", ..., NULL */

/* Returns the loss of one row, in nats, and its gradient with respect to the logits of q.
 *
 *   ret_gradient  (n), sums to 0; not p or q
 *   p, q          (n), each sums to 1; q > 0 except where exp underflows
 * In logarithms, probabilities below 2^-60 count as 2^-60, and so does alpha in NLA, so that the
 * loss stays finite. Where p_i = q_i, alpha has no gradient; we take the side q_i >= p_i. */
double spec_losses_row(double *ret_gradient, const double *q, const double *p, int n,
                       spec_losses_kind kind);

#endif
