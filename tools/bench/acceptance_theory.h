/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance_theory: closed forms for a rule's acceptance at one position, and for the optimum.
 * A table maps each rule and kind of siblings in sim/ to a formula in analysis/. Accepted means
 * that the emitted token is one of the drafted tokens. docs/formulas/acceptance.md#multi-draft,
 * #optimal. */
#ifndef SPECLAB_ACCEPTANCE_THEORY_H
#define SPECLAB_ACCEPTANCE_THEORY_H

#include "analysis/rules/ratio_order.h"
#include "sim/verify/verify.h"

/* Return the acceptance of one draft token, drawn from the draft's row or (`chosen`) its argmax,
 * and the best acceptance of any rule that makes the same claim, to keep the target's law or its
 * argmax. target and draft are rows (vocab). The rule must be initialised, with its settings.
 * Return NaN if no closed form is known, and if memory runs out, in which case errno is ENOMEM.
 * O(V). */
double spec_acceptance_theory_single(const spec_rule *rule, bool chosen, const double *target,
                                     const double *draft, int vocab);
double spec_acceptance_theory_single_optimum(const spec_rule *rule, bool chosen,
                                             const double *target, const double *draft, int vocab);

/* Return the acceptance of n >= 2 siblings of one kind, and its optimum. The rule's claim decides
 * which target `order` holds: for SPEC_LOSSLESS_ARGMAX it is one-hot at its argmax. NaN if no
 * closed form is known, and outside the domain. Costs: multi_draft.h, coincidence.h, optimal.h. */
double spec_acceptance_theory_siblings(const spec_rule *rule, spec_siblings siblings, int n,
                                       const spec_ratio_order *order);
double spec_acceptance_theory_siblings_optimum(spec_siblings siblings, int n,
                                               const spec_ratio_order *order);

/* Returns whether two rules that make the same claim have the same closed form for these
 * siblings. */
bool spec_acceptance_theory_same_form(const spec_rule *rule, const spec_rule *other,
                                      spec_siblings siblings);

/* Returns the number of steps of the closed form if it is a recursion over tuples of drafts; 0 if
 * it is not. */
double spec_acceptance_theory_steps(const spec_rule *rule, spec_siblings siblings, int n,
                                    const spec_ratio_order *order);

#endif
