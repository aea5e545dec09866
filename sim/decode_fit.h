/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decode_fit: which draft strategies, length policies and rules a decoder can combine.
 * What a rule claims about its output law holds only for certain siblings, lengths and rows of
 * drafts. */
#ifndef SPECLAB_DECODE_FIT_H
#define SPECLAB_DECODE_FIT_H

#include "sim/draft/drafter.h"
#include "sim/draft/policy.h"
#include "sim/verify/verify.h"

/* Returns whether the rule's claim holds for what the strategy drafts, at the lengths that the
 * policy sets. */
bool spec_decode_fit_allows(const spec_rule *rule, const spec_drafter *drafter,
                            const spec_policy *policy);

/* Returns GSL_EINVAL, with a message of one line, if the claim does not hold, if a tree has more
 * than SPEC_NODES_MAX nodes, or if the policy reads the tokens of a tree. `drafting` is the
 * drafter's spec. */
int spec_decode_fit_check(const spec_rule *rule, const char *rule_spec, const spec_drafter *drafter,
                          const char *drafting, const spec_policy *policy, spec_error *error);

#endif
