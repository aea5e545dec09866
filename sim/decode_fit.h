/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decode_fit: which draft strategies, length policies and rules a decoder can combine.
 * A rule claims the law of its output for certain siblings, lengths and rows of drafts alone. */
#ifndef SPECLAB_DECODE_FIT_H
#define SPECLAB_DECODE_FIT_H

#include "sim/draft/drafter.h"
#include "sim/draft/policy.h"
#include "sim/verify/verify.h"

/* Whether the rule's claim holds for what the strategy drafts, at lengths that the policy sets. */
bool spec_decode_fit_allows(const spec_rule *rule, const spec_drafter *drafter,
                            const spec_policy *policy);

/* GSL_EINVAL, with one line, where it does not hold. Also for a tree of more than SPEC_NODES_MAX
 * nodes, and for a tree with a policy that reads its tokens. `drafting` is the drafter's spec. */
int spec_decode_fit_check(const spec_rule *rule, const char *rule_spec, const spec_drafter *drafter,
                          const char *drafting, const spec_policy *policy, spec_error *error);

#endif
