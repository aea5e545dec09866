/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pair_theory: the exact long-run mean of n_emitted of a pair of models, and of chains found ahead.
 * Rounds are iid if every context has the same acceptance (perturb drafts, order-0 pairs). A
 * pair of finite order is a Markov chain over its contexts. Formulas (analysis/modulated.h)
 * cover token and match on chains; enumeration of a round in every context covers other rules,
 * and trees. docs/formulas.md#pair-chain. */
#ifndef SPECLAB_PAIR_THEORY_H
#define SPECLAB_PAIR_THEORY_H

#include "sim/decode.h"

/* Maximum contexts of a pair, and maximum branches times tokens of an enumeration. */
enum { SPEC_PAIR_CONTEXTS_MAX = 256, SPEC_PAIR_STEPS_MAX = 1000000 };

/* Computes the exact mean of n_emitted; NaN if none is known. Fails only if memory runs out or a
 * model has no row. */
int spec_pair_theory_emitted(double *ret_mean, const spec_decoder_config *config,
                             spec_error *error);

/* Finds the config without shared noise whose rounds have the same law, over seeds and texts. A
 * rule with a seed makes no random decisions, so it cannot be enumerated. *ret has the rule without
 * its seed, on a chain, if the strategy shares its noise, else `match`. It is *config itself if the
 * rule has no seed, or if the policy anticipates: later decisions then depend on the noise, and
 * there is no theory. The texts are borrowed from *config or static. */
int spec_pair_theory_by_chance(spec_decoder_config *ret, const spec_decoder_config *config,
                               spec_error *error);

/* Computes the mean only by enumeration, with fewer than `limit` >= 1 branches over all contexts.
 * One round from each context gives its mean of n_emitted and the law of the next context; the
 * stationary law of contexts weights the means. It works for every rule, policy and strategy
 * without state between rounds. NaN for others, if the limit is too low, or if the long run depends
 * on the start. Fails as above, and if the decoder refuses the config. */
int spec_pair_theory_enumerated(double *ret_mean, const spec_decoder_config *config, uint64_t limit,
                                spec_error *error);

/* Computes the long-run share of rounds that find their chain drafted ahead. The previous round
 * must be accepted to the end, and its bonus must be the draft's most probable token there. Rounds
 * start in the contexts of the long run. Drafting ahead changes neither contexts nor n_emitted, so
 * config->ahead is ignored. By formula or enumeration as above, for policies of a fixed length; 0
 * at K = 0; also NaN for models that end texts. Checked by: alpha^K guessed for one pair of rows;
 * enumeration of the decoder that drafts ahead; its rounds. */
int spec_pair_theory_hit(double *ret_hit, const spec_decoder_config *config, spec_error *error);

#endif
