/* pair_theory: the exact long-run mean of n_emitted for a pair of models, where the closed forms reach it.
 * Rounds are iid where every context has the same acceptance (perturb drafts, order-0 pairs); pairs of finite order are
 * a chain over their contexts (analysis/modulated.h). Fixed length, chain or greedy drafts, rules token and match.
 * docs/formulas.md#pair-chain. */
#ifndef SPECLAB_PAIR_THEORY_H
#define SPECLAB_PAIR_THEORY_H

#include "sim/decode.h"

/* Most contexts of a pair that is solved exactly. */
enum { SPEC_PAIR_CONTEXTS_MAX = 256 };

/* NaN where no exact theory is known; a failure only where memory runs out or a model has no row. */
int spec_pair_theory_emitted(double *ret_mean, const spec_decoder_config *config, spec_error *error);

#endif
