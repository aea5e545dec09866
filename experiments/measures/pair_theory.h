/* pair_theory: the exact long-run mean of n_emitted for a pair of models, and the share of rounds that find their chain
 * drafted ahead, where formulas or enumeration reach them.
 * Rounds are iid where every context has the same acceptance (perturb drafts, order-0 pairs); pairs of finite order are
 * a chain over their contexts: for token and match on chains by formula (analysis/modulated.h), for other rules and
 * trees by enumeration of a round in every context. docs/formulas.md#pair-chain. */
#ifndef SPECLAB_PAIR_THEORY_H
#define SPECLAB_PAIR_THEORY_H

#include "sim/decode.h"

/* Most contexts of a pair that is solved exactly; most branches times tokens of an enumeration for it. */
enum { SPEC_PAIR_CONTEXTS_MAX = 256, SPEC_PAIR_STEPS_MAX = 1000000 };

/* NaN where no exact theory is known; a failure only where memory runs out or a model has no row. */
int spec_pair_theory_emitted(double *ret_mean, const spec_decoder_config *config, spec_error *error);

/* A rule with a seed asks no chance, and there is nothing to enumerate. *ret is the config by chance whose rounds have
 * the same law that these have over seeds and texts: the rule without its seed on a chain where the strategy shares its
 * noise, else `match`. *config itself where the rule has no seed, and where the policy lets noise through that decides
 * later (one that anticipates): then there is no theory. The texts are borrowed from *config or static. */
int spec_pair_theory_by_chance(spec_decoder_config *ret, const spec_decoder_config *config, spec_error *error);

/* By enumeration alone, with fewer than `limit` >= 1 branches over all contexts together: one round from each context
 * gives its mean of n_emitted and the law of the next round's context, whose stationary law weights the means. For
 * every rule, policy and strategy that keeps nothing from round to round. NaN for others, where the limit does not
 * suffice, and where the long run depends on the start. Fails as the above, and where the decoder refuses the config. */
int spec_pair_theory_enumerated(double *ret_mean, const spec_decoder_config *config, uint64_t limit, spec_error *error);

/* The long-run share of rounds that find the chain that was drafted ahead: that the round before was accepted throughout
 * and its bonus was the draft's most probable token there, in the contexts in which rounds start. Drafting ahead changes
 * neither these nor n_emitted, so whether the config does is not looked at. By formula or enumeration as above, of
 * policies of a fixed length; 0 at K = 0; NaN too for models that end texts. Checked by: alpha^K guessed for one pair of
 * rows; enumeration of the decoder that drafts ahead; its rounds. */
int spec_pair_theory_hit(double *ret_hit, const spec_decoder_config *config, spec_error *error);

#endif
