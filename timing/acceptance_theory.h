/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance_theory: the closed forms of rules' acceptance and of its optimum, for one position.
 * A table maps the rules and the siblings of sim/ to the formulas of analysis/. Accepted means that
 * the emitted token is among those drafted. docs/formulas.md#multi-draft, #optimal. */
#ifndef SPECLAB_ACCEPTANCE_THEORY_H
#define SPECLAB_ACCEPTANCE_THEORY_H

#include "analysis/rules/ratio_order.h"
#include "sim/verify/verify.h"

/* One draft token, drawn from the draft's row or (`chosen`) its argmax; target and draft (vocab).
 * The rule must be initialised, with its settings. NaN without a known closed form, and if memory
 * runs out: then errno is ENOMEM. The optimum is for the rule's own claim: the target's law, or its
 * argmax. O(V). */
double spec_acceptance_theory_single(const spec_rule *rule, bool chosen, const double *target,
                                     const double *draft, int vocab);
double spec_acceptance_theory_single_optimum(const spec_rule *rule, bool chosen,
                                             const double *target, const double *draft, int vocab);

/* n >= 2 siblings of one kind. The rule's claim decides the pair: for SPEC_LOSSLESS_ARGMAX the
 * target is one-hot at its argmax. NaN without a known closed form, and outside the domain. Costs:
 * see analysis/rules/multi_draft.h, coincidence.h and optimal.h. */
double spec_acceptance_theory_siblings(const spec_rule *rule, spec_siblings siblings, int n,
                                       const spec_ratio_order *order);
double spec_acceptance_theory_siblings_optimum(spec_siblings siblings, int n,
                                               const spec_ratio_order *order);

/* Whether two rules with the same claim have one closed form for such siblings. */
bool spec_acceptance_theory_same_form(const spec_rule *rule, const spec_rule *other,
                                      spec_siblings siblings);

/* Number of steps of the closed form if it is a recursion over tuples of drafts; 0 for the
 * others. */
double spec_acceptance_theory_steps(const spec_rule *rule, spec_siblings siblings, int n,
                                    const spec_ratio_order *order);

#endif
