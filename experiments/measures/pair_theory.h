/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pair_theory: exact long-run means for a pair of models: n_emitted, and chains found ahead.
 * If every context has the same acceptance (perturb drafts, order-0 pairs), rounds are iid. A pair
 * of finite order is a Markov chain over its contexts. Formulas (analysis/modulated.h) cover the
 * rules token and match on chains. For other rules and for trees, a round is enumerated in every
 * context. docs/formulas/acceptance.md#pair-chain. */
#ifndef SPECLAB_PAIR_THEORY_H
#define SPECLAB_PAIR_THEORY_H

#include "sim/decode.h"

/* Maximum contexts of a pair; maximum branches times tokens of an enumeration. */
enum { SPEC_PAIR_CONTEXTS_MAX = 256, SPEC_PAIR_STEPS_MAX = 1000000 };

/* Computes the exact mean of n_emitted; NaN if none is known. Fails only if memory runs out or a
 * model has no row. */
int spec_pair_theory_emitted(double *ret_mean, const spec_decoder_config *config,
                             spec_error *error);

/* Finds a config without shared noise whose rounds have the same distribution over seeds and texts.
 * We need it because a rule with a seed makes no random decisions, so it cannot be enumerated. *ret
 * has the rule without its seed if rule and draft share their noise, and `match` if they do not; a
 * chain with noise becomes one without. *ret is *config itself if the rule has no seed, if the
 * policy anticipates, since later decisions then depend on the noise, and if a tree has noise: for
 * the last two cases there is no theory. The texts are static or borrowed from *config. */
int spec_pair_theory_by_chance(spec_decoder_config *ret, const spec_decoder_config *config,
                               spec_error *error);

/* Computes the mean by enumeration only, with fewer than `limit` >= 1 branches over all contexts.
 * One round from each context gives its mean of n_emitted and the distribution of the next context;
 * the means are weighted by the stationary distribution of contexts. This works for every rule,
 * policy and strategy that keeps no state between rounds. The mean is NaN for others, if the limit
 * is too low, or if the long run depends on the start. Fails as above, and if the decoder refuses
 * the config. */
int spec_pair_theory_enumerated(double *ret_mean, const spec_decoder_config *config, uint64_t limit,
                                spec_error *error);

/* Computes the long-run share of rounds that find their chain drafted ahead. For that, the previous
 * round must be accepted to the end, and its bonus must be the draft's most probable token there.
 * Rounds start in the contexts of the long run. Drafting ahead changes neither contexts nor
 * n_emitted, so config->ahead is ignored. Uses a formula or enumeration as above, for policies of
 * fixed length; 0 at K = 0; also NaN for models that end texts. Checked by: alpha^K guessed for one
 * pair of rows; enumeration of the decoder that drafts ahead; simulated rounds of it. */
int spec_pair_theory_hit(double *ret_hit, const spec_decoder_config *config, spec_error *error);

#endif
