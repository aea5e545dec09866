/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rank_acceptance: the probability that the r-th child of a node is the accepted one.
 * The probability that one of r children is accepted grows with r, and the child of rank r adds the
 * difference. This holds only if a rule judges a child by itself and the children before it, so
 * that later children change nothing. */
#ifndef SPECLAB_RANK_ACCEPTANCE_H
#define SPECLAB_RANK_ACCEPTANCE_H

#include "experiments/measures/measure.h"
#include "sim/decode.h"

#include <stdint.h>

/* Checks that the rule judges this way. If not, returns GSL_EINVAL and names the rules that do. */
int spec_rank_acceptance_check(const char *rule, spec_error *error);

/* For a pair that has the same rows after every context, fills ret_accept (width) from the closed
 * forms of multi_draft and sets *ret_exact. For other pairs, for rules and siblings without a
 * closed form, and where it would take more than about ten million steps, sets *ret_exact to false
 * and fills nothing. */
int spec_rank_acceptance_exact(double *ret_accept, bool *ret_exact, int width,
                               const spec_decoder_config *config, spec_siblings siblings,
                               spec_error *error);

/* Measures with the rule itself, at `positions` positions of the text that it emits. At each
 * position `width` children are drafted and judged, and the text grows by one token. All positions
 * have equal weight, not only those where rounds begin. After an end of text, or if the next draft
 * does not fit a model's window, a text begins after the target's next prompt. The config's
 * drafting has one level; its K is 1. Results depend on the seed, not on the threads. Returns
 * GSL_EINVAL for a window of less than two tokens. */
int spec_rank_acceptance_measured(double *ret_accept, int width, const spec_decoder_config *config,
                                  uint64_t positions, uint64_t seed, const spec_point *point,
                                  spec_error *error);

#endif
