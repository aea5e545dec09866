/* rank_acceptance: how often the r-th child of a node is the one that is accepted.
 * The chance that some one of r children is accepted grows with r; the child of rank r adds the difference. Only for
 * rules that judge a child by itself and by those before it, so that more children behind it change nothing. */
#ifndef SPECLAB_RANK_ACCEPTANCE_H
#define SPECLAB_RANK_ACCEPTANCE_H

#include "sim/decode.h"

#include <stdint.h>

/* Does the rule judge so? Else GSL_EINVAL, naming those that do. */
int spec_rank_acceptance_check(const char *rule, spec_error *error);

/* From the closed forms of multi_draft, for a pair whose rows are the same after every context. Fill ret_accept (width)
 * and set *ret_exact; false, and nothing filled, for other pairs, for rules and siblings without a closed form, and
 * where it would take more than some ten million steps. */
int spec_rank_acceptance_exact(double *ret_accept, bool *ret_exact, int width, const spec_decoder_config *config,
                               spec_siblings siblings, spec_error *error);

/* By the rule itself, over `positions` places of the text that it emits: at each, `width` children are drafted and
 * judged, and the text goes on by one token. Every place counts alike, not only those where rounds begin. The config's
 * drafting is of one level; its K is 1. Results depend on the seed and not on the threads. */
int spec_rank_acceptance_measured(double *ret_accept, int width, const spec_decoder_config *config, uint64_t positions,
                                  uint64_t seed, int threads, const volatile int *opt_stop, spec_error *error);

#endif
